"""Who asked, and in which session of the client: what a request's `metadata.user_id` says, in each of its forms.

Claude Code wrote only a hash at first, then `user_<hash>_account_<uuid>_session_<uuid>`, and since 2.1.78 an object in
JSON with the same three. Other clients write whatever they like: that is who asked, and no session.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from palaver.sources.parse import NOT_JSON, parse

_PARTS = re.compile(r"user_(?P<user>[0-9a-fA-F]+)_account_(?P<account>[^_]*)_session_(?P<session>.+)", re.DOTALL)


class Caller(NamedTuple):
    user: str = ""
    account: str = ""
    session: str = ""

    @property
    def name(self) -> str:
        return self.user or self.account


def caller_of(request: dict[str, Any]) -> Caller:
    match request.get("metadata"):
        case {"user_id": str(stated)}:
            return _read(stated)
        case _:
            return Caller()


@lru_cache(1 << 6)
def _read(stated: str) -> Caller:
    if stated.startswith("{"):
        return _from_json(stated)
    if parts := _PARTS.fullmatch(stated):
        return Caller(parts["user"], parts["account"], parts["session"])
    return Caller(stated)


def _from_json(stated: str) -> Caller:
    try:
        parts = parse(stated.encode())
    except (*NOT_JSON, UnicodeEncodeError):
        return Caller(stated)

    def part(*names: str) -> str:
        return next((value for name in names if isinstance(value := parts.get(name), str)), "")

    return Caller(part("device_id", "user_id"), part("account_uuid", "account_id"), part("session_id"))
