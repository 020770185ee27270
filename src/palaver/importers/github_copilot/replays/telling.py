"""Conversations of an exported log with what the log says beside its requests: what was typed, and other entries."""

from collections import Counter
from collections.abc import Iterator

from palaver.importers.github_copilot.replays.authors import with_author
from palaver.importers.github_copilot.replays.entries import Entry, Prompt
from palaver.importers.github_copilot.replays.tools import Executed, alone
from palaver.importers.github_copilot.spans.secrets import masked
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid, deterministic_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.threads.chain import dumped

PLATFORM = "github_copilot"
_TITLE_LETTERS = 200


class Told:
    """What a file knows of all of its conversations."""

    def __init__(self, prompts: list[Prompt], of_call: dict[str, Prompt], about: JsonObject) -> None:
        self._prompts = prompts
        self._of_call = of_call
        self._about = {key: masked(key, value) for key, value in about.items() if value is not None}

    def finished(self, document: JsonObject) -> JsonObject:
        """A document of the requests, with what somebody typed."""
        prompts = self.prompts_of(document)
        typed = sorted(
            {prompt.text for prompt in prompts or self._prompts if prompt.text.strip()}, key=len, reverse=True
        )
        is_sidechain = document.pop("session", {}).get("is_sidechain") is True  # its id is one that we made
        if is_sidechain:
            document["session"] = {"is_sidechain": True}
        document["messages"] = [
            with_author(message, typed, is_sidechain=is_sidechain) for message in document["messages"]
        ]
        return self.dressed(document, prompts)

    def prompts_of(self, document: JsonObject) -> list[Prompt]:
        """The prompts whose requests a document holds."""
        names = [(message.get("metadata") or {}).get("request_id") for message in document["messages"]]
        found = [self._of_call[name] for name in names if isinstance(name, str) and name in self._of_call]
        return list({id(prompt): prompt for prompt in found}.values())

    def dressed(self, document: JsonObject, prompts: list[Prompt]) -> JsonObject:
        custom: JsonObject = dict(self._about)
        if told := [prompt.about for prompt in prompts if prompt.about]:
            custom["prompts"] = told
        if custom:
            document["context"] = {"custom": custom}
        if title := next((" ".join(prompt.text.split()) for prompt in prompts if prompt.text.strip()), ""):
            document["title"] = title[:_TITLE_LETTERS]
        return document


def said_alone(
    documents: list[JsonObject], left: list[Executed], others: list[Entry], told: Told, time: str
) -> Iterator[JsonObject]:
    """The documents, and what none of them holds: at the end of one with the same prompt, else by itself."""
    waiting: dict[int, tuple[Prompt, list[JsonObject]]] = {}
    holders = {id(prompt): document for document in reversed(documents) for prompt in told.prompts_of(document)}
    names: Counter[str] = Counter()
    for entry in others:
        holder = holders.get(id(entry.prompt))
        if holder is not None:
            messages, stated = holder["messages"], holder["created_at"]
        else:
            messages, stated = waiting.setdefault(id(entry.prompt), (entry.prompt, []))[1], time
        name = dumped(entry.log).decode()
        names[name] += 1
        messages.append(_note(entry, f"{name}-{names[name]}", messages[-1]["message_id"] if messages else None, stated))
    yield from documents
    for prompt, messages in waiting.values():
        yield told.dressed(_document(messages, time), [prompt])
    if left:
        yield told.dressed(_document(alone(left, time), time), [])


def unasked(prompts: list[Prompt], told: Told, time: str) -> Iterator[JsonObject]:
    """What somebody typed, and no request was made of."""
    for prompt in prompts:
        message = build.message(
            message_id=deterministic_uuid(f"github_copilot-prompt-{dumped(prompt.about).decode()}"),
            role="user",
            timestamp=time,
            content=[build.text(prompt.text)],
            metadata={"author_kind": "human", "timestamp_inferred": True},
        )
        yield told.dressed(_document([message], time), [prompt])


def _document(messages: list[JsonObject], time: str) -> JsonObject:
    stated = [one["timestamp"] for one in messages if "timestamp_inferred" not in one["metadata"]]
    first = messages[0]["message_id"]
    return build.conversation(
        conversation_id=conversation_uuid(PLATFORM, min(stated, default=""), first),
        platform={"name": PLATFORM},
        created_at=min(stated, default=time),
        updated_at=max(stated, default=None),
        messages=messages,
    )


def _note(entry: Entry, name: str, parent: str | None, time: str) -> JsonObject:
    """An entry of the editor as a message of its own."""
    log = entry.log
    said = log.get("content") if entry.kind == "markdown" else log.get("error")
    stated = readable_timestamp(log.get("startTime") if entry.kind == "markdown" else log.get("timestamp"))
    metadata: JsonObject = {
        "author_kind": "harness",
        "entry": log if not isinstance(said, str) else _without(log, said),
    }
    if not stated:
        metadata["timestamp_inferred"] = True
    return build.message(
        message_id=deterministic_uuid(f"github_copilot-note-{name}"),
        parent_message_id=parent,
        role="system",
        timestamp=stated or time,
        content=[build.text(said if isinstance(said, str) else "")],
        metadata=metadata,
    )


def _without(log: JsonObject, said: str) -> JsonObject:
    return {key: value for key, value in log.items() if value is not said}
