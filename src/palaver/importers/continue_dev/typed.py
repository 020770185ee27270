"""`input_history.json`: what was typed at the command line, with its times; sessions have none."""

from collections import Counter

from palaver.errors import PalaverError
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.elements import elements_of
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import UNREADABLE_SIDE_FILE


class Typed:
    """The prompts that were typed, newest first as in the file."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str, JsonObject]] = []
        self._by_text: dict[str, list[int]] = {}

    def read(self, source: Source, run: Run) -> None:
        try:
            with elements_of(source, run, label=source.file_name) as elements:
                for value in elements:
                    match value:
                        case {"text": str(text), **rest}:
                            self._by_text.setdefault(text.strip(), []).append(len(self.prompts))
                            self.prompts.append((text, readable_timestamp(rest.get("timestamp")), rest))
                        case _:
                            run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where(), "no text was typed")
        except (PalaverError, OSError) as error:
            run.note(UNREADABLE_SIDE_FILE, source.name, str(error), kept=False)

    def holds(self, text: str) -> bool:
        return text.strip() in self._by_text

    def time(self, text: str) -> str:
        """When a text was typed; empty where it was not, or more than once."""
        places = self._by_text.get(text.strip(), ())
        return self.prompts[places[0]][1] if len(places) == 1 else ""

    def left(self, held: set[str], platform: str, source: Source) -> tuple[list[JsonObject], int]:
        """The prompts that no session holds, as a conversation a day; how many they are."""
        days: dict[str, list[tuple[str, str, JsonObject]]] = {}
        for prompt in reversed(self.prompts):
            if prompt[0].strip() not in held:
                days.setdefault(prompt[1][: len("2026-01-01")], []).append(prompt)
        documents = [_of_a_day(day, prompts, platform, source) for day, prompts in sorted(days.items())]
        return documents, sum(map(len, days.values()))


def _of_a_day(day: str, prompts: list[tuple[str, str, JsonObject]], platform: str, source: Source) -> JsonObject:
    """What was typed on a day; the oldest prompts leave the file one by one, so that no place in it names a message."""
    name = conversation_uuid(platform, day, source.file_name)
    messages: list[JsonObject] = []
    ids = Counter[str]()
    for text, stated, rest in prompts:
        metadata: JsonObject = {"author_kind": "human", "context_incomplete": True}
        if more := {field: value for field, value in rest.items() if field != "timestamp" or not stated}:
            metadata["source_fields"] = more
        if not stated:
            metadata["timestamp_inferred"] = True
        message_id = conversation_uuid(name, stated, text)
        ids[message_id] += 1
        messages.append(
            build.message(
                message_id=f"{message_id}:{ids[message_id]}" if ids[message_id] > 1 else message_id,
                parent_message_id=messages[-1]["message_id"] if messages else None,
                role="user",
                timestamp=stated or source.written_at(),
                content=[build.text(text)],
                metadata=metadata,
            )
        )
    return build.conversation(
        conversation_id=name,
        title="Typed at the command line",
        platform={"name": platform, "metadata": {"recovered_from": source.file_name}},
        created_at=min(message["timestamp"] for message in messages),
        status="archived",
        messages=messages,
    )
