"""Prompts written as Continue writes them, for every chat template, and what of their messages a reader can know.

A message is a pair of role and text. The functions follow the product's `core/llm/templates/chat.ts`.
"""

PREAMBLE = (
    "You are an AI programming assistant, utilizing the DeepSeek Coder model, developed by DeepSeek Company, and your  "
    "role is to assist with questions related to computer science. For politically sensitive questions, security and "
    "privacy issues, and other non-computer science questions, you will not answer.\n"
)


def made(system, user, assistant, separator, *, prefix="", without_system=""):
    """What the product calls a template factory."""

    def render(messages):
        messages = list(messages)
        while messages and messages[0][0] == "assistant":
            messages.pop(0)
        prompt = prefix
        if messages and messages[0][0] == "system":
            prompt += system(messages.pop(0)[1])
        else:
            prompt += without_system
        prompt += separator.join((user if role == "user" else assistant) + text for role, text in messages)
        if messages and messages[-1][0] == "user":
            prompt += separator + assistant
        return prompt

    return render


def llama2(messages):
    messages = list(messages)
    if messages[0][0] == "assistant":
        messages.pop(0)
    has_system = messages[0][0] == "system"
    if has_system and not messages[0][1].strip():
        has_system = False
        messages.pop(0)
    prompt = ""
    if has_system:
        system = f"<<SYS>>\n {messages[0][1]}\n<</SYS>>\n\n"
        if len(messages) == 1:
            return f"[INST] {system} [/INST]"
        prompt = f"<s>[INST] {system} {messages[1][1]} [/INST]"
        messages = messages[2:]
    for number, (role, text) in enumerate(messages, 1):
        if role == "user":
            prompt += f"[INST] {text} [/INST]"
        else:
            prompt += text + ("</s>\n<s>" if number < len(messages) else "")
    return prompt


def codestral(messages):
    return llama2(messages) + "\n"


def anthropic(messages):
    prompt = "\n\nHuman: Hello." if messages[0][0] not in {"user", "system"} else ""
    for role, text in messages:
        prompt += f"\n\n{'Human' if role in {'user', 'system'} else 'Assistant'}: {text} "
    return prompt + "\n\nAssistant:"


def codellama_70b(messages):
    told = "".join(f"Source: {role}\n\n {text.strip()} <step> " for role, text in messages)
    return f"<s>{told}Source: assistant\nDestination: user\n\n"


def deepseek(messages):
    messages = list(messages)
    system = messages.pop(0)[1] if messages[0][0] == "system" else ""
    prompt = PREAMBLE
    for number, (role, text) in enumerate(messages, 1):
        is_last = number == len(messages)
        prompt += "### Instruction:\n" if role == "user" else "### Response:\n"
        if system and role == "user" and is_last:
            prompt += f"{system}\n"
        prompt += text
        if not is_last:
            prompt += "\n" if role == "user" else "<|EOT|>\n"
    if messages and messages[-1][0] == "user":
        prompt += "\n### Response:\n"
    return prompt


def role_tags(messages):
    return "".join(f"<{role}>\n{text}\n\n" for role, text in messages)


RENDERERS = {
    "role_tags": role_tags,
    "chatml": made(
        "<|im_start|>system\n{}<|im_end|>\n".format,
        "<|im_start|>user\n",
        "<|im_start|>assistant\n",
        "<|im_end|>\n",
    ),
    "llama3": made(
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n{}<|eot_id|>\n".format,
        "<|start_header_id|>user<|end_header_id|>\n",
        "<|start_header_id|>assistant<|end_header_id|>\n",
        "<|eot_id|>",
    ),
    "zephyr": made(
        "<|system|>{}</s>\n".format,
        "<|user|>\n",
        "<|assistant|>\n",
        "</s>\n",
        without_system="<|system|> </s>\n",
    ),
    "alpaca": made(
        "{}\n\n".format,
        "### Instruction:\n",
        "### Response:\n",
        "\n\n",
        without_system="Below is an instruction that describes a task. "
        "Write a response that appropriately completes the request.\n\n",
    ),
    "gemma": made(lambda _: "", "<start_of_turn>user\n", "<start_of_turn>model\n", "<end_of_turn>\n"),
    "phi2": made("\n\nInstruct: {} ".format, "\n\nInstruct: ", "\n\nOutput: ", " "),
    "phind": made("### System Prompt\n{}\n\n".format, "### User Message\n", "### Assistant\n", "\n"),
    "openchat": made(lambda _: "", "GPT4 Correct User: ", "GPT4 Correct Assistant: ", "<|end_of_turn|>"),
    "xwin-coder": made(
        "<system>: {}".format,
        "\n<user>: ",
        "\n<AI>: ",
        "",
        without_system="<system>: You are an AI coding assistant that helps people with programming. "
        "Write a response that appropriately completes the user's request.",
    ),
    "neural-chat": made("### System:\n{}\n".format, "### User:\n", "### Assistant:\n", "\n"),
    "granite": made("\n\nSystem:\n {}\n\n".format, "Question:\n", "Answer:\n", "\n\n"),
    "llava": made(
        lambda _: "",
        "USER: <image>",
        "ASSISTANT: ",
        "\n",
        prefix="A chat between a curious user and an artificial intelligence assistant. "
        "The assistant gives helpful, detailed, and polite answers to the user's questions.",
    ),
    "anthropic": anthropic,
    "codellama-70b": codellama_70b,
    "deepseek": deepseek,
    "llama2": llama2,
    "codestral": codestral,
}

WITHOUT_SYSTEM = {"gemma", "openchat", "llava"}
WITH_ROLES = {"role_tags", "codellama-70b"}


def told(template, messages):
    """The messages as far as a prompt tells of them: the first, apart from a system's, must be a user's."""
    messages = list(messages)
    system = [messages.pop(0)] if messages[0][0] == "system" else []
    if template in WITH_ROLES:
        kept = [*system, *messages]
        return [(role, text.strip()) for role, text in kept] if template == "codellama-70b" else kept
    messages = [(role if role == "user" else "assistant", text) for role, text in messages]
    if template in WITHOUT_SYSTEM:
        return messages
    if template in {"phi2", "anthropic"} and not system and [role for role, _ in messages[:2]] == ["user", "user"]:
        return [("system", messages[0][1]), *messages[1:]]
    if template == "codestral" and messages and messages[-1][0] == "assistant":
        messages[-1] = "assistant", messages[-1][1] + "\n"
    if template == "deepseek" and system:
        if messages[-1][0] != "user":
            return messages
        if not system[0][1].startswith("<important_rules>"):
            return [*messages[:-1], ("user", f"{system[0][1]}\n{messages[-1][1]}")]
    return [*system, *messages]
