"""Recognition of files with chat sessions by their shape, and of the two files that belong to one session.

A session that an older version of the editor saved and a newer one continued has two files of the same name: the log,
and the older `.json`.
"""

from typing import Any

from palaver.importers._shared.contract import Match
from palaver.sources.source import Source
from palaver.sources.source_head import parse_head

LOG, FLAT = "log", "flat"
_REASONS = {LOG: "a log of a chat session of VS Code", FLAT: "a chat session of VS Code"}
_LINE_SUFFIXES = {".jsonl", ".ndjson"}
_HALLMARKS = (b'"requests"', b'"responderUsername"', b'"creationDate"')
"""A file without any of these is rejected at once."""
_FIRST_BYTES = 1 << 12
"""Usually enough to recognize a file: parsing its whole head takes milliseconds."""


def recognize_file(source: Source) -> Match:
    form = form_of(source)
    if not form:
        return Match.no()
    partner = partner_of(source, form)
    members = (partner.name.rpartition("/")[2],) if partner else ()
    return Match.yes(_REASONS[form], members, f"sessions:{form}")


def form_of(source: Source) -> str:
    """Return whether a file is read line by line or as one value; empty if it is not a session."""
    if source.is_folder:
        return ""
    head = source.head()
    if not any(hallmark in head for hallmark in _HALLMARKS):
        return ""
    value = parse_head(head[:_FIRST_BYTES])
    if not (is_session(value) or begins_log(value)):
        value = source.parsed_head()
    if isinstance(value, list):
        return FLAT if value and is_session(value[0]) else ""
    if is_session(value):
        return LOG if source.suffix in _LINE_SUFFIXES else FLAT
    return LOG if begins_log(value) else ""


def partner_of(source: Source, form: str) -> Source | None:
    """Return the other file of the same session, if there is one."""
    if form == LOG and source.suffix == ".jsonl":
        partner, hallmark = source.sibling(f"{source.stem}.json"), b'"requests"'
    elif form == FLAT and source.suffix == ".json":
        partner, hallmark = source.sibling(f"{source.stem}.jsonl"), b'"kind"'
    else:
        return None
    if not partner.exists() or hallmark not in partner.head():
        return None
    match partner.parsed_head():
        case None | {"kind": int()} | {"requests": list()}:  # or its head cannot be parsed
            return partner
        case _:
            return partner if form_of(partner) else None


def is_session(value: Any) -> bool:
    """Return whether an object is a whole session, possibly truncated at the end."""
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
    """Return whether an object is the first line of a log; a long one may be truncated before its requests."""
    match value:
        case {"kind": int(kind), "v": dict(state)} if kind == 0 and type(kind) is int:
            return is_state(state) and ("requests" in state or "creationDate" in state or "responderUsername" in state)
        case _:
            return False


def is_state(value: Any) -> bool:
    """Return whether a value may be the state of a session: it has requests or at least a session id."""
    return isinstance(value, dict) and (
        isinstance(value.get("requests"), list) or isinstance(value.get("sessionId"), str)
    )


def _is_request(value: Any) -> bool:
    match value:
        case {"message": {"text": str()} | {"parts": list()} | str(), **rest}:
            return isinstance(rest.get("requestId"), str) or "response" in rest
        case _:
            return False
