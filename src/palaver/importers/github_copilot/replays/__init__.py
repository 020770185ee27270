"""Logs of requests that somebody exported from the chat's debug view: replays, single entries, Markdown.

Where the files are
    Where they were saved: `copilot_all_prompts_<time>.chatreplay.json` with all prompts, one alone in
    `<prompt>_logs.chatreplay.json`, one entry in `<id>.json`, or as Markdown in `<name>_<id>.copilotmd` and
    `tool_<tool>_<id>.copilotmd`.

What comes out
    Conversations: every request repeats what was said before, and each message stands there once. Roles and kinds of
    parts are numbers in these files. An answer is logged without the calls of tools in it; they are found in the
    request that follows, else in the entries of the calls. Ids of calls lose their `__vscode-<number>`; a result has
    the original in `metadata.source_id`, and when it was given in `metadata.time`. A result that no request repeats is
    a message of its own. What somebody typed is `prompt` of the message that it was put into; a message of the user
    without it is the editor's. Entries of one prompt that are spread over several are one turn. `prompt_elements` of an
    answer are the parts of the prompt with their tokens. Entries without a request (`error`, Markdown) are messages of
    the system; a prompt without entries is a message by itself, unless one with the same words has some. In Markdown,
    texts are as they are shown there: breaks of lines in arguments cannot be told apart.

What is left out, and counted under these rules
    `prompt-element` (tokens of a part of a prompt in a file without requests), `empty-prompt` (a prompt without
    words and entries), `log-note` (Markdown that is neither a request nor a call: lists of models, rules). Not kept:
    marks for the cache.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.replays.names import KNOWN_KINDS, OWN_NAMES
from palaver.sources.run import Run
from palaver.sources.source import Source

__all__ = ["KNOWN_KINDS", "OWN_NAMES", "read", "recognize"]


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.replays.shapes import recognize as look

    return look(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.replays.reading import read_unit

    yield from read_unit(source, run)
