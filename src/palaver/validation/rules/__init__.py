"""The rules of every conversation, one module an idea; those of one platform stand with its importer."""

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
