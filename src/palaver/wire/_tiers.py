"""Processing tiers: every provider has a word of its own for the standard one, and chooses where nothing is said."""

from collections.abc import Collection

from palaver.wire._contract import Losses

_STANDARD = ("default", "standard", "standard_only")
_CHOSEN_BY_PROVIDER = "auto"


def tier_to_wire(tier: str | None, known: Collection[str], losses: Losses, *, title: str) -> str | None:
    """Return a tier in the words of a format; None if there is none, which is a loss unless the provider chooses."""
    if tier is None or tier in known:
        return tier
    if tier in _STANDARD and (own := next((word for word in _STANDARD if word in known), None)):
        return own
    if tier != _CHOSEN_BY_PROVIDER:
        losses.drop("/service_tier", f"{title} has no tier `{tier}`")
    return None
