"""What telemetry and reports may not leave behind: ids that follow a person or a machine, tokens, signed addresses.

Left out of documents are fields whose names end in one of `NOT_KEPT` (dots and underscores do not count), such as
`copilot_trackingId`, `organizations_list`, `client_machineid`, `common_vscodesessionid` and `ai.user.id`. In what is
set aside, they are masked.
"""

import re
from functools import lru_cache

from palaver.model.finding import FindingKind
from palaver.redact import MASK, masked_url
from palaver.sources.run import Run

NOT_KEPT = (
    *("trackingid", "machineid", "deviceid", "sessionid", "sqmid", "userid", "uniqueid", "accountid", "anonid"),
    *("organizationslist", "enterpriselist", "useralias", "username", "userlogin", "email", "authenticatedid"),
    *("roleinstance", "clientip", "locationip", "ipaddress"),
    *("token", "secret", "password", "authorization", "cookie", "apikey", "ikey", "instrumentationkey"),
)
_PAIR = re.compile(r'"([\w.\-]{2,80})(\\*"\s*:\s*\\*")((?:[^"\\]++|\\[^"])*+)')
_ADDRESS = re.compile(r"https?://[^\s\"'<>\\]+")


@lru_cache(1 << 12)
def is_secret(name: str) -> bool:
    return name.lower().replace("_", "").replace(".", "").replace("-", "").endswith(NOT_KEPT)


class DiscreetRun(Run):
    """The same run, for readers that set bytes aside as they are."""

    def __init__(self, run: Run) -> None:
        vars(self).update(vars(run))

    def note(self, kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        super().note(kind, where, masked_text(message), kept=kept)

    def set_aside(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        text = raw.decode("utf-8", "surrogateescape")
        masked = masked_text(text)
        kept = raw if masked == text else masked.encode("utf-8", "surrogateescape")
        super().set_aside(kind, kept, where, masked_text(message))


def masked_text(text: str) -> str:
    """A record in whatever state, with masks in place of what may not be kept."""
    return _ADDRESS.sub(lambda found: masked_url(found[0]), _PAIR.sub(_masked_pair, text))


def _masked_pair(pair: re.Match[str]) -> str:
    name, between, _ = pair.groups()
    return f'"{name}{between}{MASK}' if is_secret(name) else pair[0]
