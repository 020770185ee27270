"""Request logs exported from the chat's debug view: replays, single entries, Markdown.

Where the files are
    Wherever the user saved them: `copilot_all_prompts_<time>.chatreplay.json` holds all prompts,
    `<prompt>_logs.chatreplay.json` a single prompt, `<id>.json` a single entry; as Markdown, `<name>_<id>.copilotmd`
    and `tool_<tool>_<id>.copilotmd`.

What comes out
    Conversations: every request repeats the messages before it, and each message appears once. Roles and part kinds
    are numbers in these files. An answer is logged without its tool calls; they come from the next request, else from
    the entries of the calls. Call ids lose their `__vscode-<number>` suffix; a result has the original id in
    `metadata.source_id` and its time in `metadata.time`. A result that no request repeats becomes a message of its
    own. What the user typed is in `prompt` of the message that includes it; a user message without it comes from the
    editor. Entries of a prompt that is split into several form one turn. `prompt_elements` of an answer are the parts
    of the prompt with their token counts. Its `request_id` is that of the server, which recordings of the call have as
    well; the log's own id of the entry is in `entry`. Entries without a request (`error`, Markdown) become system
    messages; a prompt without entries becomes a message, unless another with the same text has entries. In Markdown,
    texts are as displayed: a line break in arguments may be an escaped one or a literal one.

What is left out, and counted under these rules
    `prompt-element` (token counts of a prompt part in a file without requests), `empty-prompt` (a prompt without text
    and entries), `log-note` (Markdown that is neither a request nor a call: model lists, rules). Dropped: cache
    markers.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers.github_copilot.replays.recognition import KNOWN_KINDS, OWN_NAMES, recognize
from palaver.sources.run import Run
from palaver.sources.source import Source

__all__ = ["KNOWN_KINDS", "OWN_NAMES", "read", "recognize"]


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.replays.reader import read_unit

    yield from read_unit(source, run)
