"""What a report has to know of Copilot: the names that its formats give, and what they keep whole on purpose."""

from palaver.importers._shared.contract import Description
from palaver.importers.github_copilot import completions, events, metrics, replays, sessions, spans

_FORMATS = (sessions, events, completions, replays, spans, metrics)

DESCRIPTION = Description(
    own_names=frozenset().union(*(one.OWN_NAMES for one in _FORMATS)),
    known_kinds=frozenset().union(*(one.KNOWN_KINDS for one in _FORMATS)),
)
