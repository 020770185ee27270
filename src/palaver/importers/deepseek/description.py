"""What a report has to know of DeepSeek: names of our own; nothing is kept whole on purpose."""

from palaver.importers._shared.contract import Description
from palaver.importers.deepseek.conversation import OURS

DESCRIPTION = Description(own_names=OURS)
