"""The rules for every conversation, one module per topic; rules for one platform live with its importer."""

from palaver.model.rules import Rule
from palaver.validation.rules import content, header, links, required, times, usage

RULES: tuple[Rule, ...] = (
    *header.RULES,
    *times.RULES,
    *content.RULES,
    *links.RULES,
    *usage.RULES,
    *required.RULES,
)
