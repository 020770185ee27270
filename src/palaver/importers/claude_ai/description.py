"""What a report has to know of Claude.ai: names of our own, and blocks that are kept whole on purpose."""

from palaver.importers._shared.contract import Description
from palaver.importers.claude_ai.content import KNOWN
from palaver.importers.claude_ai.messages import OWN_NAMES

DESCRIPTION = Description(own_names=OWN_NAMES, known_kinds=KNOWN)
