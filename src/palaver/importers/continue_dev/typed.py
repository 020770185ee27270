"""`input_history.json`: what was typed at the command line, with its times; sessions have none."""

from typing import Any

from palaver.errors import PalaverError
from palaver.model import build
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.elements import elements_of
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import UNREADABLE_SIDE_FILE

Json = dict[str, Any]


class Typed:
    """The prompts that were typed, newest first as in the file."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str, Json]] = []
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

    def left(self, held: set[str], platform: str, source: Source) -> tuple[Json | None, int]:
        """The prompts that no session holds, as one conversation; how many they are."""
        left = [(place, *prompt) for place, prompt in enumerate(self.prompts) if prompt[0].strip() not in held]
        if not left:
            return None, 0
        earliest = min(filter(None, (time for _, time, _ in self.prompts)), default="")
        name = conversation_uuid(platform, earliest, source.file_name)
        messages: list[Json] = []
        time = earliest or source.written_at()
        created_at = time
        for place, text, stated, rest in reversed(left):
            metadata: Json = {"author_kind": "human", "context_incomplete": True}
            if more := {field: value for field, value in rest.items() if field != "timestamp" or not stated}:
                metadata["source_fields"] = more
            if not stated:
                metadata["timestamp_inferred"] = True
            time = stated or time
            messages.append(
                build.message(
                    message_id=f"{name}:{len(self.prompts) - place - 1}",
                    parent_message_id=messages[-1]["message_id"] if messages else None,
                    role="user",
                    timestamp=time,
                    content=[build.text(text)],
                    metadata=metadata,
                )
            )
        document = build.conversation(
            conversation_id=name,
            title="Typed at the command line",
            platform={"name": platform, "metadata": {"recovered_from": source.file_name}},
            created_at=created_at,
            status="archived",
            messages=messages,
        )
        return document, len(left)
