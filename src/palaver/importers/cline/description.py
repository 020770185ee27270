"""What a report has to know of Cline: what it has to know of task folders, and the names in sessions of the SDK."""

from palaver.importers._cline_family.description import DESCRIPTION as TASKS
from palaver.importers._shared.contract import Description
from palaver.importers.cline.sdk_blocks import TOOL_OUTPUT
from palaver.importers.cline.sdk_messages import OURS

DESCRIPTION = Description(own_names=TASKS.own_names | OURS, known_kinds=TASKS.known_kinds | {TOOL_OUTPUT})
