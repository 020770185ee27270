"""The `metadata` of a message: renaming of its fields to the names of the schema, and what they say about it."""

from palaver.model.build import JsonObject

RESERVED_NAMES = frozenset({
    *("author_kind", "hidden", "on_active_path", "branch_index", "branch_count", "fork_point", "model_override"),
    *("stop_reason", "timestamp_inferred", "context_incomplete", "author_name", "author", "content_type", "feedback"),
    *("source_role", "source_fields", "id", "create_time", "content", "metadata", "user_type", "api_message_id"),
    *("source_ids", "invalid_fields", "accepted", "completion_index", "tool_name", "parent", "children", "node"),
    *("update_time", "status", "end_turn", "weight", "recipient", "channel"),
})  # fmt: skip
"""Metadata names that the importer itself uses; a field of the service with such a name goes to `source_fields`."""

_COLLIDES, _HAS_MODEL, _HAS_FINISH, _HAS_DURATION, CITES, ATTACHES, _HIDES, _SHOWS, _FORKS = (
    1 << bit for bit in range(9)
)
AFFECTS_MESSAGE = _HIDES | _SHOWS | _FORKS
_TRAIT_OF_NAME = {
    **dict.fromkeys(RESERVED_NAMES, _COLLIDES),
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
    """A cache of the traits of a message, by the names in its metadata; there are few different sets of names."""

    def __missing__(self, names: tuple[str, ...]) -> int:
        if len(self) > 10_000:
            self.clear()
        traits = 0
        for name in names:
            traits |= _TRAIT_OF_NAME.get(name, 0)
        self[names] = traits
        return traits


TRAITS = _Traits()


def rename_fields(metadata: JsonObject, traits: int, models: dict[str, int]) -> None:
    """Rename the service's fields to those of the schema, move clashing ones, and count the answers of each model."""
    if traits & _COLLIDES:
        metadata["source_fields"] = {name: metadata.pop(name) for name in list(metadata) if name in RESERVED_NAMES}
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


def apply_visibility(metadata: JsonObject, traits: int, role: str) -> bool:
    """Hide or show a message as the service did; return True if it was copied from another conversation."""
    if traits & _HIDES and metadata["is_visually_hidden_from_conversation"] is True:
        metadata["hidden"] = True
    elif traits & _SHOWS and role == "system" and metadata["is_user_system_message"] is True:
        metadata.pop("hidden", None)
    return bool(traits & _FORKS)


def keep_unmapped(raw: JsonObject, mapped: frozenset[str], metadata: JsonObject) -> None:
    """Add the unmapped fields of a message to its metadata."""
    for name in sorted(raw.keys() - mapped):
        target, free_name = metadata, name
        if name in metadata or name in RESERVED_NAMES:
            target = metadata.setdefault("source_fields", {})
            while free_name in target:
                free_name += "'"
        target[free_name] = raw[name]


def keep_author_fields(author: JsonObject, metadata: JsonObject) -> None:
    """Add the fields of an author other than role and name to the metadata."""
    rest = {name: value for name, value in author.items() if name not in {"role", "name"} and value not in ({}, None)}
    if rest:
        metadata["author"] = rest
