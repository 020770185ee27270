"""What a report has to know of Continue: names of our own; content that had to be kept whole is always news."""

from palaver.importers._shared.contract import Description
from palaver.importers.continue_dev.fields import OURS

DESCRIPTION = Description(own_names=OURS)
