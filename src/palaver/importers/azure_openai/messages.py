"""HTTP messages as text: `request:<id>` or `response:<id>`, and below it the message as it travelled.

Policies send these to an Event Hub one by one; a file holds many. A body may have blank lines of its own: a message
goes on to the next line that names one.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from palaver.errors import SourceError
from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers.azure_openai.secrets import headers_of, masked_text
from palaver.model.build import JsonObject
from palaver.sources.jsonl import CUT_OFF
from palaver.sources.run import Run, place

_NAME = re.compile(r"\ufeff?(request|response):([^\s{}\"]{1,100})\s*")
_REQUEST = re.compile(r"^([A-Z]{3,10}) (\S+)(?: HTTP/\S+)?[ \r]*$", re.MULTILINE)
_RESPONSE = re.compile(r"^HTTP/\S+ ([0-9]{3})\b.*$", re.MULTILINE)
_START = re.compile(r"HTTP/[0-9.]+ [0-9]{3}\b|[A-Z]{3,10} \S+ HTTP/[0-9.]+\s*$")
_BODY = re.compile(r"^(?:[{\[]|data:|event:)", re.MULTILINE)


def is_message(text: str) -> bool:
    return _NAME.match(text.partition("\n")[0]) is not None


def message_of(text: str) -> JsonObject | None:
    """One message as a row's columns; None where it is none."""
    first, _, rest = text.partition("\n")
    named = _NAME.fullmatch(first)
    if named is None:
        return None
    side, call_id = named.groups()
    columns: JsonObject = {"RequestId": call_id}
    head, _, body = rest.replace("\r\n", "\n").partition("\n\n")
    if (begun := _BODY.search(head)) and not body.lstrip().startswith(("{", "[")):
        head, body = head[: begun.start()], f"{head[begun.start() :]}\n\n{body}"  # the blank line is lost
    if found := _REQUEST.search(head):
        columns |= {"method": found[1], "url": found[2]}
    elif found := _RESPONSE.search(head):
        columns["responseCode"] = int(found[1])
    elif body.strip():
        columns["head"] = masked_text(head)  # no message begins like this
    else:
        body = rest
    if headers := headers_of(head[found.end() :] if found else ""):
        columns[f"{side}Headers"] = headers
    if body.strip():
        columns[f"{side}Body"] = body.strip("\r\n")
    return columns


class HttpMessages:
    """Iterates over the messages of a stream as objects; counts each on the run, and sets aside what is none."""

    def __init__(self, stream: BinaryIO, run: Run) -> None:
        self._stream = stream
        self._run = run
        self._start = (1, 0)
        self.size_bytes = 0

    def where(self) -> str:
        return place(*self._start)

    def __iter__(self) -> Iterator[JsonObject]:
        for text in self._texts():
            self.size_bytes = len(text)
            self._run.read()
            if (found := message_of(text)) is not None:
                yield found
            else:
                self._run.quarantined(BAD_CONVERSATION, text.encode(), self.where(), "no message is named before it")

    def _texts(self) -> Iterator[str]:
        held: list[str] = []
        has_begun = False
        offset = 0
        start = (1, 0)
        for number, raw in enumerate(self._lines(), 1):
            text = raw.decode("utf-8", "replace")
            # A message that has lost the line with its name does not belong to the one before it.
            begins = _START.match(text) is not None
            if held and (_NAME.fullmatch(text) or (begins and has_begun)):
                if "".join(held).strip():
                    self._start = start
                    yield "".join(held)
                held, has_begun = [], False
            if not held:
                start = (number, offset)
            has_begun |= begins
            held.append(text)
            offset += len(raw)
        if "".join(held).strip():
            self._start = start
            yield "".join(held)

    def _lines(self) -> Iterator[bytes]:
        try:
            for raw in self._stream:
                self._run.advance(len(raw))
                yield raw
        except (SourceError, OSError) as error:
            self._run.note(CUT_OFF, "the end", str(error), kept=False)
