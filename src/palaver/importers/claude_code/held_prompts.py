"""Which prompts of `history.jsonl` a session really holds, compared without regard to how each spells them.

History shows a pasted text as `[Pasted text #1 +3 lines]`, a command as `/plan the week` and a shell command as `!ls`;
the session has the pasted text itself, tags, and white space of its own. So both are brought to one form, of which only
a hash is kept: neither the history nor a session need fit into memory.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from io import BytesIO
from itertools import chain
from typing import Any, NamedTuple

import orjson

from palaver.errors import SourceError
from palaver.importers.claude_code.commands import parse_command, parse_input
from palaver.importers.claude_code.content import plain_text, to_blocks
from palaver.importers.claude_code.line_context import without_injections
from palaver.model.build import JsonObject
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source

_PLACEHOLDER = re.compile(r"\[(?:Pasted text|Image|\.\.\.Truncated text) #([0-9]+)[^\]\n]*\]")
_IMAGE = "[Image"
_ELLIPSIS = "…"
_LINE_MARKS = (b'"user"', b'"system"', b'"attachment"', b'"queue-operation"')
"""Every line that may hold a prompt contains one of these, however it is spaced; the others need not be parsed."""


class Prompt(NamedTuple):
    """A prompt of the history, in a form that can be compared."""

    hash: bytes | None
    """Of its normalized text; None if there is no text to look for."""
    pieces: tuple[str, ...] = ()
    """The text around what is not known, such as a paste of which only a hash is left; empty if all is known."""

    def is_in(self, text: str) -> bool:
        """Return whether a normalized text begins and ends as the pieces do, and holds all of them in order."""
        if not self.pieces or not text.startswith(self.pieces[0]) or not text.endswith(self.pieces[-1]):
            return False
        position = 0
        for piece in self.pieces:
            if (position := text.find(piece, position)) < 0:
                return False
            position += len(piece)
        return True


def prompt_of_row(display: str, pasted: Any) -> Prompt:
    """Return the prompt of a row of `history.jsonl`, with the pasted texts that it names."""
    has_unknown = False

    def expand(placeholder: re.Match[str]) -> str:
        nonlocal has_unknown
        match pasted.get(placeholder[1]) if isinstance(pasted, dict) else None:
            case {"content": str(text)} if not placeholder[0].startswith(_IMAGE):
                return text
            case _:
                has_unknown |= not placeholder[0].startswith(_IMAGE)
                return ""

    form = normalized(_PLACEHOLDER.sub(expand, display))
    is_cut = display.endswith(_ELLIPSIS)
    pieces: tuple[str, ...] = ()
    if is_cut or has_unknown:
        shown = display.removesuffix(_ELLIPSIS)
        pieces = tuple(normalized(piece) for piece in _PLACEHOLDER.split(shown)[::2])
        pieces = (*pieces, "") if is_cut else pieces
    return Prompt(text_hash(form) if form else None, pieces if any(pieces) else ())


def normalized(text: str) -> str:
    """Return a text as it is compared: as typed, without placeholders, injected context and white space."""
    if (command := parse_command(text)) is not None:
        text = command.text + command.rest
    elif (typed := parse_input(text)) is not None:
        text = typed
    words = "".join(_PLACEHOLDER.sub("", without_injections(text)).split())
    return words if words.isascii() else unicodedata.normalize("NFC", words)


def text_hash(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


def held_prompts(typed_texts: Iterable[str], wanted: Mapping[str, Prompt]) -> set[str]:
    """Return the keys of those prompts that are among some texts; these are read until all are found."""
    held = {key for key, prompt in wanted.items() if prompt.hash is None}
    keys_by_hash: dict[bytes | None, list[str]] = {}
    for key, prompt in wanted.items():
        keys_by_hash.setdefault(prompt.hash, []).append(key)
    incomplete = {key: prompt for key, prompt in wanted.items() if prompt.pieces}
    for typed in typed_texts:
        text = normalized(typed)
        held.update(keys_by_hash.get(text_hash(text), ()))
        held.update([key for key, prompt in incomplete.items() if prompt.is_in(text)])
        if len(held) == len(wanted):
            break
    return held


def archived_prompts(contents: Iterator[list[JsonObject]], wanted: Mapping[str, Prompt]) -> set[str]:
    """Return the keys of those prompts that are among the contents of messages; without any message, no key."""
    first = next(contents, None)
    if first is None:
        return set()
    return held_prompts(chain.from_iterable(map(_block_texts, chain((first,), contents))), wanted)


def texts_of_file(session: Source) -> Iterator[str]:
    """Yield every text of a session file that a person may have typed; nothing of a file that cannot be read."""
    try:
        with session.open() as stream:
            for line in stream:
                if any(mark in line for mark in _LINE_MARKS):
                    for record in _records(line):
                        yield from _record_texts(record)
    except (SourceError, OSError):
        return


def _records(line: bytes) -> list[Any]:
    try:
        return [orjson.loads(line)]
    except orjson.JSONDecodeError:  # the reader of sessions repairs some damage
        return list(JsonLines(BytesIO(line), Run("")))


def _record_texts(record: Any) -> Iterator[str]:
    match record:
        case {"type": "attachment", "attachment": {"prompt": content}}:
            pass
        case {"type": "user", "message": {"content": content}}:
            pass
        case {"type": "user" | "system" | "queue-operation", "content": content}:
            pass
        case _:
            return
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from _block_texts(to_blocks(content))


def _block_texts(blocks: list[JsonObject]) -> Iterator[str]:
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    yield from texts
    if len(texts) > 1:
        yield plain_text(blocks)
