"""The messages of a prompt as Continue logs it, whichever chat template it was written with.

A template's marks are not escaped in the texts between them, so that a text which has one is cut there; but none of it
is lost. Some things no prompt tells: tool results and thoughts have the assistant's mark in all templates but one,
Gemma, OpenChat and LLaVA leave the system text out, DeepSeek hides it in the last of the user's (Continue's own rules
are found there), and Phi-2 and Anthropic write it as a user's, where it is the first of two in a row.
"""

from typing import NamedTuple

from palaver.importers.continue_dev.role_tags import is_tagged, joined_chunks, tagged_messages
from palaver.importers.continue_dev.said import Said
from palaver.importers.continue_dev.templates import TEMPLATES

__all__ = ["Prompt", "Said", "call_mark", "completion_text", "messages_of_prompt"]

_LOOKED_AT = 400


class Prompt(NamedTuple):
    template: str
    """The name of the chat template, `role_tags` where there was none, `raw` where nothing is known."""
    messages: list[Said]


def messages_of_prompt(prompt: str) -> Prompt:
    if is_tagged(prompt):
        return Prompt("role_tags", tagged_messages(prompt))
    for template in TEMPLATES:
        if template.begins(prompt):
            return Prompt(template.name, template.messages(prompt))
    for template in TEMPLATES:
        if template.may_be(prompt):
            return Prompt(template.name, template.messages(prompt))
    return Prompt("raw", [Said("user", prompt)] if prompt else [])


def call_mark(prompt: str, completion: str) -> int:
    """Tells a call of the model from others: prompts are long, and differ in their lengths or at their ends."""
    return hash((len(prompt), prompt[-_LOOKED_AT:], completion))


def completion_text(completion: str) -> str:
    """What the model said, without the tags that may be around every piece of it that came in."""
    return joined_chunks(completion) if completion.startswith("<assistant>\n") else completion
