"""Messages of an interaction: what the editor sent, and every suggestion that came back."""

from dataclasses import dataclass

from palaver.importers.github_copilot.completions import facts
from palaver.importers.github_copilot.completions.events import FLAT, Event
from palaver.importers.github_copilot.completions.interaction import Choice, Interaction, outcome_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid

PLATFORM = "github_copilot"
_CHARACTERS_A_TOKEN = 4
_OVERHEAD_BYTES = 2_000
_OURS = frozenset({"event", "timestamp"})
_IDS = tuple(zip(("request_id", *facts.REQUEST_IDS[1:]), facts.REQUEST_IDS, strict=True))


@dataclass(slots=True)
class Told:
    """An interaction as messages, and what their conversation has to know of it."""

    name: str
    time: str
    is_inferred: bool
    ended_at: str
    file: str
    language: str
    who: str
    model: str
    version: str
    editor: str
    system: str
    environment: JsonObject
    cursor: JsonObject | None
    size_bytes: int
    """About how much memory it takes."""
    messages: list[JsonObject]


def told(interaction: Interaction, time: str) -> Told:
    """The messages; `time` is for those whose events have none."""
    events, said = interaction.events, interaction.said
    names = said.names
    cursor, line = facts.cursor_of(said)
    found = Told(
        name=interaction.name,
        time=interaction.time or time,
        is_inferred=not interaction.time,
        ended_at=interaction.ended_at or time,
        file=said.text(names.files),
        language=said.text(names.languages),
        who=events[0].who or next((event.who for event in events if event.who), ""),
        model=said.text(names.models),
        version=facts.version_in(said.text(names.versions)),
        editor=facts.name_in(said.text(names.editors)),
        system=said.text(names.systems),
        environment={name: said.first[name] for name in names.environment},
        cursor=cursor,
        size_bytes=sum([event.size_bytes for event in events]) + _OVERHEAD_BYTES,
        messages=[],
    )
    _Writing(interaction, found, line).write()
    return found


class _Writing:
    def __init__(self, interaction: Interaction, into: Told, line: int | None) -> None:
        self._from = interaction
        self._into = into
        self._line = line
        first = interaction.said.first
        self._known: JsonObject = {
            name: first[name] for name in (*interaction.said.names.mapped, *interaction.prompt.names)
        }
        """What has a place of its own, as the words have."""
        self._names: set[str] = set()
        """Of the suggestions that were written."""

    def write(self) -> None:
        interaction, into = self._from, self._into
        prompt_id: str | None = None
        others = interaction.others
        if interaction.prompt.parts:
            prompt_id = self._id("prompt")
            into.messages.append(self._prompt(prompt_id, others))
            others = []
        for choice in interaction.choices:
            into.messages.append(self._suggestion(choice, prompt_id, others))
            others = []

    def _prompt(self, message_id: str, events: list[Event]) -> JsonObject:
        into = self._into
        parts = self._from.prompt.parts
        blocks: list[JsonObject] = []
        for kind, text in parts:
            is_here = kind != "context"
            where = {"start": self._line, "end": self._line} if is_here and self._line else None
            blocks.append(
                build.code(
                    text,
                    language=into.language or None if is_here else None,
                    file_path=into.file or None if is_here else None,
                    line_range=where,
                )
            )
        metadata = self._metadata("harness", [text for _, text in parts], events, self._known)
        if len(parts) > 1:
            metadata["prompt_parts"] = [kind for kind, _ in parts]
        if not self._from.choices and (outcome := outcome_of(self._from.events)):
            metadata["outcome"] = outcome
        return build.message(message_id=message_id, role="user", timestamp=into.time, content=blocks, metadata=metadata)

    def _suggestion(self, choice: Choice, parent: str | None, of_all: list[Event]) -> JsonObject:
        into = self._into
        text = choice.words.parts[0][1]
        where = {"start": self._line, "end": self._line + text.count("\n")} if self._line else None
        events = [*of_all, *choice.events] if of_all else choice.events
        own = _first_said((*self._from.said.names.mapped, *choice.words.names), choice.events)
        metadata = self._metadata("model", [text], events, self._known | own)
        if choice.number is not None:
            metadata["completion_index"] = choice.number
        outcome = outcome_of(choice.events)
        if (is_accepted := choice.is_accepted(outcome)) is not None:
            metadata["accepted"] = is_accepted
        if outcome:
            metadata["outcome"] = outcome
        if found := _still_in_code(choice.events):
            metadata["still_in_code"] = found
        if self._from.said.names.durations and (took := next(filter(None, map(duration_ms, choice.events)), None)):
            metadata["duration_ms"] = took
        return build.message(
            message_id=self._id(self._name(choice)),
            role="assistant",
            timestamp=_produced_at(events) or into.time,
            content=[build.code(text, language=into.language or None, file_path=into.file or None, line_range=where)],
            parent_message_id=parent,
            metadata=metadata,
        )

    def _metadata(self, author: str, texts: list[str], events: list[Event], known: JsonObject) -> JsonObject:
        into = self._into
        metadata: JsonObject = {"author_kind": author}
        for ours, theirs in _IDS:
            for event in events:
                found = event.facts.get(theirs)
                if isinstance(found, str) and found:
                    metadata[ours] = found
                    break
        metadata["estimated_tokens"] = sum([-(-len(text) // _CHARACTERS_A_TOKEN) for text in texts])
        if into.is_inferred:
            metadata["timestamp_inferred"] = True
        if into.cursor is not None:
            metadata["cursor"] = into.cursor
        if entries := entries_of(events, known):
            metadata["events"] = entries
        return metadata

    def _name(self, choice: Choice) -> str:
        """What stays the same when more suggestions become known, or more of this one."""
        name = "completion" if choice.number is None else f"completion-{choice.number}"
        if name in self._names or (choice.number is None and choice.name):
            name = f"{name}-{choice.name}"
        self._names.add(name)
        return name

    def _id(self, part: str) -> str:
        return deterministic_uuid(f"{PLATFORM}-{self._from.time}-{self._from.name}-{part}")


def entries_of(events: list[Event], known: JsonObject) -> list[JsonObject]:
    """What each event says that none before it said; all of that is added to what is known."""
    entries: list[JsonObject] = []
    for event in events:
        new = {name: value for name, value in event.facts.items() if name not in known or known[name] != value}
        known |= new
        if event.kind == FLAT and not new:
            continue
        if not new.keys().isdisjoint(_OURS):
            new = {f"properties.{name}" if name in _OURS else name: value for name, value in new.items()}
        if event.time:
            entries.append({"event": event.kind, "timestamp": event.time, **new})
        else:
            entries.append({"event": event.kind, **new})
    return entries


def duration_ms(event: Event) -> float | None:
    """How long it took to produce what was suggested."""
    for name in facts.DURATIONS:
        match event.facts.get(name):
            case int() | float() as value if not isinstance(value, bool) and 0 <= value < 1 << 53:
                return value
            case _:
                pass
    return None


def _first_said(names: tuple[str, ...], events: list[Event]) -> JsonObject:
    """What the first event says under each name that says anything there."""
    found: JsonObject = {}
    for name in names:
        for event in events:
            if name in event.facts:
                found[name] = event.facts[name]
                break
    return found


def _produced_at(events: list[Event]) -> str:
    """When a suggestion was there."""
    for kind in ("engine.completion", "ghostText.produced", "ghostText.shown"):
        for event in events:
            if event.kind == kind and event.time:
                return event.time
    return ""


def _still_in_code(events: list[Event]) -> list[JsonObject]:
    """What was found of an accepted suggestion some seconds later."""
    return [
        {"after_seconds": event.facts.get("timeout"), "is_found": bool(event.facts.get("stillInCodeHeuristic"))}
        for event in events
        if event.kind.endswith(".stillInCode")
    ]
