"""Messages of an interaction: the prompt that the editor sent, and every suggestion that came back.

An interaction without any text becomes a usage record instead.
"""

from collections import Counter
from dataclasses import dataclass

from palaver.importers.github_copilot.completions import properties
from palaver.importers.github_copilot.completions.events import FLAT, Event
from palaver.importers.github_copilot.completions.interaction import Choice, Interaction, outcome_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid

PLATFORM = "github_copilot"
_CHARACTERS_PER_TOKEN = 4
_OVERHEAD_BYTES = 2_000
_RESERVED_NAMES = frozenset({"event", "timestamp"})
_ID_NAMES = tuple(zip(("request_id", *properties.REQUEST_IDS[1:]), properties.REQUEST_IDS, strict=True))


@dataclass(slots=True)
class InteractionMessages:
    """An interaction as messages, with what their conversation needs to know about it."""

    request_id: str
    time: str
    is_inferred: bool
    ended_at: str
    file: str
    language: str
    user_digest: str
    model: str
    version: str
    editor: str
    system: str
    environment: JsonObject
    cursor: JsonObject | None
    size_bytes: int
    """Approximate size in memory."""
    messages: list[JsonObject]


def interaction_messages(interaction: Interaction, time: str) -> InteractionMessages:
    """Return the messages of an interaction; `time` is used if its events have none."""
    events, fields = interaction.events, interaction.fields
    names = fields.names
    cursor, line = properties.cursor_of(fields)
    found = InteractionMessages(
        request_id=interaction.request_id,
        time=interaction.time or time,
        is_inferred=not interaction.time,
        ended_at=interaction.ended_at or time,
        file=fields.text(names.files),
        language=fields.text(names.languages),
        user_digest=events[0].user_digest or next((event.user_digest for event in events if event.user_digest), ""),
        model=fields.text(names.models),
        version=properties.version_in(fields.text(names.versions)),
        editor=properties.name_in(fields.text(names.editors)),
        system=fields.text(names.systems),
        environment={name: fields.first[name] for name in names.environment},
        cursor=cursor,
        size_bytes=sum([event.size_bytes for event in events]) + _OVERHEAD_BYTES,
        messages=[],
    )
    _MessageWriter(interaction, found, line).write()
    return found


class _MessageWriter:
    def __init__(self, interaction: Interaction, output: InteractionMessages, line: int | None) -> None:
        self._interaction = interaction
        self._output = output
        self._line = line
        first = interaction.fields.first
        self._known: JsonObject = {
            name: first[name] for name in (*interaction.fields.names.mapped, *interaction.prompt.names)
        }
        """Fields that are mapped, including the text, and so are left out of `events`."""
        self._used_names: set[str] = set()
        """Names of the suggestions written so far."""

    def write(self) -> None:
        interaction, output = self._interaction, self._output
        prompt_id: str | None = None
        unassigned = interaction.unassigned
        if interaction.prompt.parts:
            prompt_id = self._id("prompt")
            output.messages.append(self._prompt(prompt_id, unassigned))
            unassigned = []
        for choice in interaction.choices:
            output.messages.append(self._suggestion(choice, prompt_id, unassigned))
            unassigned = []

    def _prompt(self, message_id: str, events: list[Event]) -> JsonObject:
        output = self._output
        parts = self._interaction.prompt.parts
        blocks: list[JsonObject] = []
        for kind, text in parts:
            is_current_file = kind != "context"
            line_range = {"start": self._line, "end": self._line} if is_current_file and self._line else None
            blocks.append(
                build.code(
                    text,
                    language=output.language or None if is_current_file else None,
                    file_path=output.file or None if is_current_file else None,
                    line_range=line_range,
                )
            )
        metadata = self._metadata("harness", [text for _, text in parts], events, self._known)
        if len(parts) > 1:
            metadata["prompt_parts"] = [kind for kind, _ in parts]
        if not self._interaction.choices and (outcome := outcome_of(self._interaction.events)):
            metadata["outcome"] = outcome
        return build.message(
            message_id=message_id, role="user", timestamp=output.time, content=blocks, metadata=metadata
        )

    def _suggestion(self, choice: Choice, parent: str | None, shared_events: list[Event]) -> JsonObject:
        output = self._output
        text = choice.completion.parts[0][1]
        line_range = {"start": self._line, "end": self._line + text.count("\n")} if self._line else None
        events = [*shared_events, *choice.events] if shared_events else choice.events
        choice_fields = _first_values((*self._interaction.fields.names.mapped, *choice.completion.names), choice.events)
        metadata = self._metadata("model", [text], events, self._known | choice_fields)
        if choice.number is not None:
            metadata["completion_index"] = choice.number
        outcome = outcome_of(choice.events)
        if (is_accepted := choice.is_accepted(outcome)) is not None:
            metadata["accepted"] = is_accepted
        if outcome:
            metadata["outcome"] = outcome
        if found := _still_in_code(choice.events):
            metadata["still_in_code"] = found
        if self._interaction.fields.names.durations and (
            duration := next(filter(None, map(duration_ms, choice.events)), None)
        ):
            metadata["duration_ms"] = duration
        return build.message(
            message_id=self._id(self._completion_name(choice)),
            role="assistant",
            timestamp=_produced_at(events) or output.time,
            content=[
                build.code(text, language=output.language or None, file_path=output.file or None, line_range=line_range)
            ],
            parent_message_id=parent,
            metadata=metadata,
        )

    def _metadata(self, author: str, texts: list[str], events: list[Event], known: JsonObject) -> JsonObject:
        output = self._output
        metadata: JsonObject = {"author_kind": author}
        for our_name, source_name in _ID_NAMES:
            for event in events:
                found = event.fields.get(source_name)
                if isinstance(found, str) and found:
                    metadata[our_name] = found
                    break
        metadata["estimated_tokens"] = sum([-(-len(text) // _CHARACTERS_PER_TOKEN) for text in texts])
        if output.is_inferred:
            metadata["timestamp_inferred"] = True
        if output.cursor is not None:
            metadata["cursor"] = output.cursor
        if entries := event_entries(events, known):
            metadata["events"] = entries
        return metadata

    def _completion_name(self, choice: Choice) -> str:
        """Return a name that stays stable when more events or suggestions become known."""
        name = "completion" if choice.number is None else f"completion-{choice.number}"
        if name in self._used_names or (choice.number is None and choice.key):
            name = f"{name}-{choice.key}"
        self._used_names.add(name)
        return name

    def _id(self, part: str) -> str:
        return deterministic_uuid(f"{PLATFORM}-{self._interaction.time}-{self._interaction.request_id}-{part}")


def event_entries(events: list[Event], known: JsonObject) -> list[JsonObject]:
    """Return what each event adds to those before it, and add it to `known`."""
    entries: list[JsonObject] = []
    for event in events:
        new = {name: value for name, value in event.fields.items() if name not in known or known[name] != value}
        known |= new
        if event.kind == FLAT and not new:
            continue
        if not new.keys().isdisjoint(_RESERVED_NAMES):
            new = {f"properties.{name}" if name in _RESERVED_NAMES else name: value for name, value in new.items()}
        if event.time:
            entries.append({"event": event.kind, "timestamp": event.time, **new})
        else:
            entries.append({"event": event.kind, **new})
    return entries


def duration_ms(event: Event) -> float | None:
    """Return how long the suggestion took to produce."""
    for name in properties.DURATIONS:
        match event.fields.get(name):
            case int() | float() as value if not isinstance(value, bool) and 0 <= value < 1 << 53:
                return value
            case _:
                pass
    return None


def _first_values(names: tuple[str, ...], events: list[Event]) -> JsonObject:
    """Return the first value of each name in these events."""
    found: JsonObject = {}
    for name in names:
        for event in events:
            if name in event.fields:
                found[name] = event.fields[name]
                break
    return found


def _produced_at(events: list[Event]) -> str:
    """Return when the suggestion became available; empty if unknown."""
    for kind in ("engine.completion", "ghostText.produced", "ghostText.shown"):
        for event in events:
            if event.kind == kind and event.time:
                return event.time
    return ""


def _still_in_code(events: list[Event]) -> list[JsonObject]:
    """Return whether an accepted suggestion was still in the code, for each later check."""
    return [
        {"after_seconds": event.fields.get("timeout"), "is_found": bool(event.fields.get("stillInCodeHeuristic"))}
        for event in events
        if event.kind.endswith(".stillInCode")
    ]


def usage_record(interaction: Interaction, time: str) -> JsonObject:
    """Return the usage record of an interaction without text; `time` is used if its events have none."""
    events, fields = interaction.events, interaction.fields
    model = fields.text(fields.names.models)
    platform: JsonObject = {"name": PLATFORM}
    if version := properties.version_in(fields.text(fields.names.versions)):
        platform["version"] = version
    metadata: JsonObject = {} if interaction.time else {"timestamp_inferred": True}
    if outcome := outcome_of(events):
        metadata["outcome"] = outcome
    request_id = fields.text(properties.REQUEST_IDS[:1] if properties.REQUEST_IDS[0] in fields.first else ())
    metadata["events"] = event_entries(events, {properties.REQUEST_IDS[0]: request_id} if request_id else {})
    return build.usage(
        usage_id=deterministic_uuid(f"{PLATFORM}-completion-{interaction.request_id}"),
        platform=platform,
        kind="request",
        started_at=interaction.time or time,
        ended_at=interaction.ended_at or None,
        model=model or None,
        request_id=request_id or None,
        counts=dict(Counter(event.kind for event in events)),
        duration_ms=next((duration for event in events if (duration := duration_ms(event)) is not None), None),
        metadata=metadata,
    )
