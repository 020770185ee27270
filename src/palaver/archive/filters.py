"""Filters on conversations, shared by listing, searching, counting and exporting."""

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
    """Folders, by full path or by the last part of it."""
    models: tuple[str, ...] = ()
    """Models, by name or prefix."""
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

        def any_of(condition: str, words: tuple[str, ...], *shapes: str) -> None:
            if words:
                conditions.append("(" + " or ".join([condition] * len(words)) + ")")
                values.extend(shape.format(word) for word in words for shape in shapes)

        any_of("c.platform = ?", self.platforms, "{}")
        if self.projects:
            condition, words = self.project_condition("c.project")
            conditions.append(condition)
            values += words
        any_of(
            "(c.model like ? escape '\\' or exists (select 1 from message m where m.conversation = c.conversation_key "
            "and m.model like ? escape '\\'))",
            tuple(_escape_like(model) for model in self.models),
            *("{}%", "{}%"),
        )
        if self.since:
            conditions.append("coalesce(c.updated_at, c.created_at) >= ?")
            values.append(self.since)
        if self.until:
            conditions.append("c.created_at < ?")
            values.append(self.until)
        for word in self.has:
            if word not in _HAS:
                raise OptionError(f"--has {word}: a conversation can have: {', '.join(HAS)}")
            conditions.append(_HAS[word])
        any_of(
            "exists (select 1 from message m join tool_call t on t.body = m.body "
            "where m.conversation = c.conversation_key and t.tool = ? collate nocase)",
            self.tools,
            "{}",
        )
        any_of(
            "exists (select 1 from (select s.tag from source_tag s where s.conversation = c.conversation_key "
            "union select h.tag from tag h where h.platform = c.platform and h.conversation_id = c.conversation_id "
            "and not h.is_removed except select h.tag from tag h where h.platform = c.platform "
            "and h.conversation_id = c.conversation_id and h.is_removed) where tag = ?)",
            self.tags,
            "{}",
        )
        if not self.with_sidechains:
            conditions.append("not c.is_sidechain")
        return " and ".join(conditions) or "true", values

    def project_condition(self, column: str) -> tuple[str, list[str]]:
        """Return an SQL condition on a column with the path of a project, with its values."""
        found = [_project_condition(column, project.rstrip("/\\")) for project in self.projects]
        condition = " or ".join(condition for condition, _ in found) or "true"
        return f"({condition})", [value for _, values in found for value in values]


def _project_condition(column: str, name: str) -> tuple[str, list[str]]:
    word = _escape_like(name)
    escape = "escape '\\'"
    if "/" in name:  # the stored path may use backslashes
        ends, values = f"replace({column}, '\\', '/') like ? {escape}", [f"%/{word}"]
    else:
        ends, values = f"{column} like ? {escape} or {column} like ? {escape}", [f"%/{word}", f"%\\\\{word}"]
    return f"({column} = ? or {ends} or {column} like ? {escape})", [name, *values, f"{word}/%"]


def _escape_like(word: str) -> str:
    """Escape the wildcards of LIKE."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
