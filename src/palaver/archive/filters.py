"""Filters on conversations, shared by listing, searching, counting and exporting."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palaver.errors import OptionError

_HAS = {
    "tool": "exists (select 1 from message m join tool_call t on t.body = m.body "
    "where m.conversation = c.conversation_key)",
    "error": "exists (select 1 from message m join body b on b.body_key = m.body "
    "where m.conversation = c.conversation_key and b.is_error)",
    "branch": "exists (select 1 from message m where m.conversation = c.conversation_key "
    "and json_extract(m.rest, '$.metadata.on_active_path') = 0)",
    "agent": "exists (select 1 from conversation a where a.parent_conversation_id = c.conversation_id "
    "and a.platform = c.platform and a.is_sidechain)",
    "tag": "(exists (select 1 from source_tag s where s.conversation = c.conversation_key) or "
    "exists (select 1 from tag h where h.platform = c.platform and h.conversation_id = c.conversation_id "
    "and not h.is_removed))",
    "rating": "exists (select 1 from rating r where r.platform = c.platform and r.conversation_id = c.conversation_id)",
}
HAS = tuple(_HAS)


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on a conversation: all fields must match, any value of a field is enough, empty fields match all."""

    platforms: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """Folders as stored; `filter_values.resolve_filters` finds them by any part of their paths."""
    models: tuple[str, ...] = ()
    """Parts of models' names, in any case; `.`, `-` and spaces are alike."""
    since: str = ""
    until: str = ""
    has: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    with_sidechains: bool = True

    def where(self) -> tuple[str, list[Any]]:
        """Return an SQL condition on `conversation c`, with its values."""
        conditions: list[str] = []
        values: list[Any] = []

        def any_of(condition: str, words: tuple[str, ...]) -> None:
            if words:
                conditions.append("(" + " or ".join([condition] * len(words)) + ")")
                values.extend(words)

        any_of("c.platform = ?", self.platforms)
        if self.projects:
            condition, words = self.project_condition("c.project")
            conditions.append(condition)
            values += words
        if self.models:
            of_conversation, names = model_condition("c.model", self.models)
            of_message, _ = model_condition("m.model", self.models)
            conditions.append(
                f"({of_conversation} or exists (select 1 from message m "  # noqa: S608 - constants, bound values
                f"where m.conversation = c.conversation_key and {of_message}))"
            )
            values += [*names, *names]
        if self.since:
            conditions.append("coalesce(c.updated_at, c.created_at) >= ?")
            values.append(self.since)
        if self.until:
            conditions.append("c.created_at < ?")
            values.append(self.until)
        for word in self.has:
            if word not in _HAS:
                raise OptionError(f"--has {word}: choose from {', '.join(HAS)}")
            conditions.append(_HAS[word])
        any_of(
            "exists (select 1 from message m join tool_call t on t.body = m.body "
            "where m.conversation = c.conversation_key and t.tool = ? collate nocase)",
            self.tools,
        )
        any_of(
            "exists (select 1 from (select s.tag from source_tag s where s.conversation = c.conversation_key "
            "union select h.tag from tag h where h.platform = c.platform and h.conversation_id = c.conversation_id "
            "and not h.is_removed except select h.tag from tag h where h.platform = c.platform "
            "and h.conversation_id = c.conversation_id and h.is_removed) where tag = ?)",
            self.tags,
        )
        if not self.with_sidechains:
            conditions.append("not c.is_sidechain")
        return " and ".join(conditions) or "true", values

    def project_condition(self, column: str) -> tuple[str, list[str]]:
        """Return an SQL condition on a column with the path of a project, with its values."""
        if not self.projects:
            return "true", []
        # One value for all of them: part of a name may match more projects than SQLite takes values.
        return f"{column} in (select value from json_each(?))", [json.dumps(self.projects)]  # noqa: S608 - a constant, a bound value


def model_condition(column: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """Return an SQL condition on a column with the name of a model, with its values."""
    if not names:
        return "true", []
    condition = f"replace({column}, '.', '-') like ? escape '\\'"
    return f"({' or '.join([condition] * len(names))})", [f"%{_escape_like(_model_part(name))}%" for name in names]


def _model_part(name: str) -> str:
    return name.strip().replace(".", "-").replace(" ", "-")


def _escape_like(word: str) -> str:
    """Escape the wildcards of LIKE."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
