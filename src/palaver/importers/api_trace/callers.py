"""Who made a call: the caller and the client's session, from `metadata.user_id` of the request.

Claude Code first wrote only a hash, then `user_<hash>_account_<uuid>_session_<uuid>`, and since 2.1.78 a JSON object
with the same three parts. What other clients write there names the caller, and no session.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from palaver.sources.parse import NOT_JSON, parse

_USER_ID = re.compile(r"user_(?P<user>[0-9a-fA-F]+)_account_(?P<account>[^_]*)_session_(?P<session>.+)", re.DOTALL)


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
            return _parse_user_id(stated)
        case _:
            return Caller()


@lru_cache(1 << 6)
def _parse_user_id(stated: str) -> Caller:
    if stated.startswith("{"):
        return _caller_from_json(stated)
    if parts := _USER_ID.fullmatch(stated):
        return Caller(parts["user"], parts["account"], parts["session"])
    return Caller(stated)


def _caller_from_json(stated: str) -> Caller:
    try:
        parts = parse(stated.encode())
    except (*NOT_JSON, UnicodeEncodeError):
        return Caller(stated)

    def part(*names: str) -> str:
        return next((value for name in names if isinstance(value := parts.get(name), str)), "")

    return Caller(part("device_id", "user_id"), part("account_uuid", "account_id"), part("session_id"))
