"""Which files hold chat sessions, judged by their shape, and which two of them are one session.

A session that was saved by an older version of the editor and used again by a newer one has two files of one name: the
log, and the `.json` that was there before it.
"""

from typing import Any

from palaver.importers._shared.contract import Match
from palaver.sources.glimpse import glimpse
from palaver.sources.source import Source

LOG, FLAT = "log", "flat"
_REASONS = {LOG: "a log of a chat session of VS Code", FLAT: "a chat session of VS Code"}
_LINES = {".jsonl", ".ndjson"}
_MARKS = (b'"requests"', b'"responderUsername"', b'"creationDate"')
"""Files without any of them are those of others, which are told fast."""
_FIRST_BYTES = 1 << 12
"""How much of a file mostly tells what it is: a look at all of its head takes some milliseconds."""


def recognize_file(source: Source) -> Match:
    form = form_of(source)
    if not form:
        return Match.no()
    partner = partner_of(source, form)
    members = (partner.name.rpartition("/")[2],) if partner else ()
    return Match.yes(_REASONS[form], members, f"sessions:{form}")


def form_of(source: Source) -> str:
    """Whether a file is read line by line, or as one value; empty where it is no session."""
    if source.is_folder:
        return ""
    head = source.head()
    if not any(mark in head for mark in _MARKS):
        return ""
    value = glimpse(head[:_FIRST_BYTES])
    if not (is_session(value) or begins_log(value)):
        value = source.glimpse()
    if isinstance(value, list):
        return FLAT if value and is_session(value[0]) else ""
    if is_session(value):
        return LOG if source.suffix in _LINES else FLAT
    return LOG if begins_log(value) else ""


def partner_of(source: Source, form: str) -> Source | None:
    """The other file of the same session."""
    if form == LOG and source.suffix == ".jsonl":
        partner, mark = source.beside(f"{source.stem}.json"), b'"requests"'
    elif form == FLAT and source.suffix == ".json":
        partner, mark = source.beside(f"{source.stem}.jsonl"), b'"kind"'
    else:
        return None
    if not partner.exists() or mark not in partner.head():
        return None
    match partner.glimpse():
        case None | {"kind": int()} | {"requests": list()}:  # as far as it can be read
            return partner
        case _:
            return partner if form_of(partner) else None


def is_session(value: Any) -> bool:
    """Whether an object is a whole session, the end of which may be cut off."""
    match value:
        case {"requests": list(requests), **rest}:
            if isinstance(rest.get("responderUsername"), str):
                return True
            if isinstance(rest.get("sessionId"), str) and ("creationDate" in rest or type(rest.get("version")) is int):
                return True
            return any(map(_is_request, requests))
        case _:
            return False


def begins_log(value: Any) -> bool:
    """Whether an object is the first line of a log; a long one may be cut off before its requests."""
    match value:
        case {"kind": int(kind), "v": dict(state)} if kind == 0 and type(kind) is int:
            return is_state(state) and ("requests" in state or "creationDate" in state or "responderUsername" in state)
        case _:
            return False


def is_state(value: Any) -> bool:
    """Whether a value may be the state of a session: it has requests, or the name of a session that has none yet."""
    return isinstance(value, dict) and (
        isinstance(value.get("requests"), list) or isinstance(value.get("sessionId"), str)
    )


def _is_request(value: Any) -> bool:
    match value:
        case {"message": {"text": str()} | {"parts": list()} | str(), **rest}:
            return isinstance(rest.get("requestId"), str) or "response" in rest
        case _:
            return False
