"""What the service noted about a message beside its words: its `metadata`, under the names of the schema."""

from palaver.model.build import JsonObject

OURS = frozenset({
    *("author_kind", "hidden", "on_active_path", "branch_index", "branch_count", "fork_point", "model_override"),
    *("stop_reason", "timestamp_inferred", "context_incomplete", "author_name", "author", "content_type", "feedback"),
    *("source_role", "source_fields", "id", "create_time", "content", "metadata", "user_type", "api_message_id"),
    *("source_ids", "invalid_fields", "accepted", "completion_index", "tool_name", "parent", "children", "node"),
    *("update_time", "status", "end_turn", "weight", "recipient", "channel"),
})  # fmt: skip
"""Names under which this importer puts things: a note of the service by one of these names stands apart."""

_COLLIDES, _HAS_MODEL, _HAS_FINISH, _HAS_DURATION, CITES, ATTACHES, _HIDES, _SHOWS, _FORKS = (
    1 << bit for bit in range(9)
)
SAYS_MORE = _HIDES | _SHOWS | _FORKS
_TELLING = {
    **dict.fromkeys(OURS, _COLLIDES),
    "model_slug": _HAS_MODEL,
    "finish_details": _HAS_FINISH,
    "finished_duration_sec": _HAS_DURATION,
    "content_references": CITES,
    "citations": CITES,
    "attachments": ATTACHES,
    "is_visually_hidden_from_conversation": _HIDES,
    "is_user_system_message": _SHOWS,
    "branching_from_conversation_title": _FORKS,
}


class _Traits(dict[tuple[str, ...], int]):
    """What the names in a message's metadata tell about it; there are few different sets of them."""

    def __missing__(self, names: tuple[str, ...]) -> int:
        if len(self) > 10_000:
            self.clear()
        traits = 0
        for name in names:
            traits |= _TELLING.get(name, 0)
        self[names] = traits
        return traits


TRAITS = _Traits()


def rename(metadata: JsonObject, traits: int, models: dict[str, int]) -> None:
    """Give the service's notes the names of the schema, make room for ours, and count who answered."""
    if traits & _COLLIDES:
        metadata["source_fields"] = {name: metadata.pop(name) for name in list(metadata) if name in OURS}
    if traits & _HAS_MODEL:
        model = metadata["model_slug"]
        if isinstance(model, str):
            del metadata["model_slug"]
            metadata["model_override"] = model
            models[model] = models.get(model, 0) + 1
    if traits & _HAS_FINISH:
        finish = metadata["finish_details"]
        if isinstance(finish, dict) and isinstance(finish.get("type"), str):
            metadata["stop_reason"] = finish["type"]
    if traits & _HAS_DURATION:
        seconds = metadata["finished_duration_sec"]
        if type(seconds) is int and seconds >= 0 and "duration_ms" not in metadata:
            metadata["duration_ms"] = seconds * 1000


def heed(metadata: JsonObject, traits: int, role: str) -> bool:
    """Hide or show a message as the service did; true for one that was brought along from another conversation."""
    if traits & _HIDES and metadata["is_visually_hidden_from_conversation"] is True:
        metadata["hidden"] = True
    elif traits & _SHOWS and role == "system" and metadata["is_user_system_message"] is True:
        metadata.pop("hidden", None)
    return bool(traits & _FORKS)


def keep_unmapped(raw: JsonObject, mapped: frozenset[str], metadata: JsonObject) -> None:
    """Keep the fields of a message that have no other place."""
    for name in sorted(raw.keys() - mapped):
        place, free = metadata, name
        if name in metadata or name in OURS:
            place = metadata.setdefault("source_fields", {})
            while free in place:
                free += "'"
        place[free] = raw[name]


def keep_author(author: JsonObject, metadata: JsonObject) -> None:
    """Keep what is said of an author beside role and name."""
    rest = {name: value for name, value in author.items() if name not in {"role", "name"} and value not in ({}, None)}
    if rest:
        metadata["author"] = rest
