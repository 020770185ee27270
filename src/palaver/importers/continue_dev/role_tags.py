"""Prompts and completions that Continue writes without a chat template: `<role>`, a line break, the text, a blank line.

Nothing is escaped: a text with such a tag after a blank line is read as two messages, and none of it is lost.
"""

import re

from palaver.importers.continue_dev.said import Said, pieces

_TAG = re.compile(r"\n\n<(system|user|assistant|tool|thinking)>\n")
_CHUNK = re.compile(r"\n\n<assistant>\n")
_END = "\n\n"


def is_tagged(prompt: str) -> bool:
    return prompt.startswith(("<system>\n", "<user>\n", "<assistant>\n", "<tool>\n", "<thinking>\n"))


def tagged_messages(prompt: str) -> list[Said]:
    said = [Said(mark[1], text) for mark, text in pieces(_END + prompt, _TAG)]
    return [*said[:-1], Said(said[-1].role, said[-1].text.removesuffix(_END))]


def joined_chunks(completion: str) -> str:
    """An answer of which every piece that came in was written like a message."""
    return "".join(text for _, text in pieces(_END + completion, _CHUNK)).removesuffix(_END)
