"""Raw records of telemetry and reports: private fields, JSON inside strings, and a limit for nesting.

Private are ids that track a person or a machine, tokens, and signed URLs. Fields whose names end in one of
`PRIVATE_FIELDS` (ignoring case, dots, dashes and underscores), such as `copilot_trackingId`, `organizations_list`,
`client_machineid`, `common_vscodesessionid` and `ai.user.id`, are left out of documents and masked in quarantined
bytes.
"""

import json
from functools import lru_cache
from typing import Any

from palaver.redact.text import mask_addresses, mask_pairs
from palaver.sources.damage import BOM, SPACE, replace_lone_surrogates
from palaver.sources.parse import NOT_JSON, parse

_BLANK = BOM + SPACE + b"\0"
PRIVATE_FIELDS = (
    *("trackingid", "machineid", "deviceid", "sessionid", "sqmid", "userid", "uniqueid", "accountid", "anonid"),
    *("organizationslist", "enterpriselist", "useralias", "username", "userlogin", "email", "authenticatedid"),
    *("roleinstance", "clientip", "locationip", "ipaddress"),
    *("token", "secret", "password", "authorization", "cookie", "apikey", "ikey", "instrumentationkey"),
)


@lru_cache(1 << 12)
def is_private_field(name: str) -> bool:
    return name.lower().replace("_", "").replace(".", "").replace("-", "").endswith(PRIVATE_FIELDS)


def mask_record(text: str) -> str:
    """Mask private fields and credentials in the text of a record, even a damaged one."""
    return mask_addresses(mask_pairs(text, is_private_field))


MAX_DEPTH = 100


def parse_or_text(text: str) -> Any:
    """Parse a text as JSON; return the text itself if it is not JSON."""
    try:
        return parse(text)
    except NOT_JSON:
        pass
    try:
        return replace_lone_surrogates(json.loads(text))[0]
    except (ValueError, RecursionError):
        return text


def is_deep(value: Any) -> bool:
    """Return whether an object or list is nested deeper than `MAX_DEPTH`, which no genuine record is."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def has_object_per_line(head: bytes) -> bool:
    """Return whether the second line of a file starts an object as the first one ended one."""
    first, _, rest = head.lstrip(_BLANK).partition(b"\n")
    return first.rstrip().endswith(b"}") and rest.lstrip(SPACE).startswith(b"{")
