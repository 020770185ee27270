"""What a report has to know of logs of Azure: names of our own."""

from palaver.importers._shared.contract import Description
from palaver.importers.azure_openai.about import OWN_NAMES
from palaver.model.build import METADATA

DESCRIPTION = Description(own_names=OWN_NAMES | METADATA)
