"""The chat templates that Continue knows, in the order in which a prompt is held against them."""

from palaver.importers.continue_dev.marked import Marked
from palaver.importers.continue_dev.odd_templates import ANTHROPIC, CODELLAMA_70B, CODESTRAL, DEEPSEEK, LLAMA2, Odd

TEMPLATES: tuple[Marked | Odd, ...] = (
    Marked(
        "chatml",
        user="<|im_start|>user\n",
        assistant="<|im_start|>assistant\n",
        separator="<|im_end|>\n",
        system=("<|im_start|>system\n", "<|im_end|>\n"),
        closing="<|im_end|>",
        is_seen_anywhere=True,
    ),
    Marked(
        "llama3",
        user="<|start_header_id|>user<|end_header_id|>\n",
        assistant="<|start_header_id|>assistant<|end_header_id|>\n",
        separator="<|eot_id|>",
        system=("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n", "<|eot_id|>\n"),
        closing="<|eot_id|>",
        is_seen_anywhere=True,
    ),
    Marked(
        "gemma",
        user="<start_of_turn>user\n",
        assistant="<start_of_turn>model\n",
        separator="<end_of_turn>\n",
        closing="<end_of_turn>",
        is_seen_anywhere=True,
    ),
    Marked(
        "zephyr",
        user="<|user|>\n",
        assistant="<|assistant|>\n",
        separator="</s>\n",
        system=("<|system|>", "</s>\n"),
        without_system="<|system|> </s>\n",
        closing="</s>",
        is_seen_anywhere=True,
    ),
    CODELLAMA_70B,
    CODESTRAL,
    LLAMA2,
    DEEPSEEK,
    Marked(
        "openchat",
        user="GPT4 Correct User: ",
        assistant="GPT4 Correct Assistant: ",
        separator="<|end_of_turn|>",
        closing="<|end_of_turn|>",
    ),
    Marked(
        "xwin-coder",
        user="\n<user>: ",
        assistant="\n<AI>: ",
        separator="",
        system=("<system>: ", ""),
        without_system="<system>: You are an AI coding assistant that helps people with programming. "
        "Write a response that appropriately completes the user's request.",
    ),
    Marked(
        "phind",
        user="### User Message\n",
        assistant="### Assistant\n",
        separator="\n",
        system=("### System Prompt\n", "\n\n"),
    ),
    Marked(
        "neural-chat",
        user="### User:\n",
        assistant="### Assistant:\n",
        separator="\n",
        system=("### System:\n", "\n"),
    ),
    Marked(
        "llava",
        user="USER: <image>",
        assistant="ASSISTANT: ",
        separator="\n",
        prefix="A chat between a curious user and an artificial intelligence assistant. "
        "The assistant gives helpful, detailed, and polite answers to the user's questions.",
    ),
    ANTHROPIC,
    Marked(
        "phi2",
        user="\n\nInstruct: ",
        assistant="\n\nOutput: ",
        separator=" ",
        system=("\n\nInstruct: ", " "),
    ),
    Marked(
        "granite",
        user="Question:\n",
        assistant="Answer:\n",
        separator="\n\n",
        system=("\n\nSystem:\n ", "\n\n"),
    ),
    Marked(
        "alpaca",
        user="### Instruction:\n",
        assistant="### Response:\n",
        separator="\n\n",
        system=("", "\n\n"),
        without_system="Below is an instruction that describes a task. "
        "Write a response that appropriately completes the request.\n\n",
        is_seen_anywhere=True,
    ),
)
