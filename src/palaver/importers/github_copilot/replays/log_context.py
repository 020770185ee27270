"""Context that an exported log has besides its requests: what the user typed, and entries without a request."""

from collections import Counter
from collections.abc import Iterator

from palaver.importers.github_copilot.replays.documents import is_helper, with_author
from palaver.importers.github_copilot.replays.entries import Entry, Prompt
from palaver.importers.github_copilot.replays.tool_runs import ToolRun, standalone_messages
from palaver.importers.github_copilot.spans.attributes import mask_attribute
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid, deterministic_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.threads.chain import canonical_json

PLATFORM = "github_copilot"
_TITLE_LENGTH = 200


class LogContext:
    """What a file holds for all of its conversations."""

    def __init__(self, prompts: list[Prompt], prompt_by_call: dict[str, Prompt], file_fields: JsonObject) -> None:
        self._prompts = prompts
        self._prompt_by_call = prompt_by_call
        self._file_fields = {key: mask_attribute(key, value) for key, value in file_fields.items() if value is not None}

    def finish(self, document: JsonObject) -> JsonObject:
        """Set the authors of a document built from requests, and enrich it."""
        prompts = self.prompts_of(document)
        typed = sorted(
            {prompt.text for prompt in prompts or self._prompts if prompt.text.strip()}, key=len, reverse=True
        )
        session = document.pop("session", {})
        session.pop("session_id", None)  # it is a made-up one
        if session:
            document["session"] = session
        messages = document["messages"]
        is_from_program = bool(session) or is_helper(messages)
        document["messages"] = [with_author(message, typed, is_from_program=is_from_program) for message in messages]
        return self.enrich(document, prompts)

    def prompts_of(self, document: JsonObject) -> list[Prompt]:
        """Return the prompts whose requests a document holds."""
        names = [(message.get("metadata") or {}).get("request_id") for message in document["messages"]]
        found = [self._prompt_by_call[name] for name in names if isinstance(name, str) and name in self._prompt_by_call]
        return list({id(prompt): prompt for prompt in found}.values())

    def enrich(self, document: JsonObject, prompts: list[Prompt]) -> JsonObject:
        """Add the fields of the file and the prompts to a document, and a title from the first prompt."""
        custom: JsonObject = dict(self._file_fields)
        if prompt_fields := [prompt.fields for prompt in prompts if prompt.fields]:
            custom["prompts"] = prompt_fields
        if custom:
            document["context"] = {"custom": custom}
        if title := next((" ".join(prompt.text.split()) for prompt in prompts if prompt.text.strip()), ""):
            document["title"] = title[:_TITLE_LENGTH]
        return document


def documents_with_leftovers(
    documents: list[JsonObject], unemitted: list[ToolRun], editor_entries: list[Entry], context: LogContext, time: str
) -> Iterator[JsonObject]:
    """Yield the documents with the editor's entries added, then documents for entries and tool runs that fit nowhere.

    An editor's entry goes to the end of a document with the same prompt, if there is one.
    """
    waiting: dict[int, tuple[Prompt, list[JsonObject]]] = {}
    holders = {id(prompt): document for document in reversed(documents) for prompt in context.prompts_of(document)}
    names: Counter[str] = Counter()
    for entry in editor_entries:
        holder = holders.get(id(entry.prompt))
        if holder is not None:
            messages, fallback_time = holder["messages"], holder["created_at"]
        else:
            messages, fallback_time = waiting.setdefault(id(entry.prompt), (entry.prompt, []))[1], time
        name = canonical_json(entry.log).decode()
        names[name] += 1
        parent = messages[-1]["message_id"] if messages else None
        messages.append(_editor_message(entry, f"{name}-{names[name]}", parent, fallback_time))
    yield from documents
    for prompt, messages in waiting.values():
        yield context.enrich(_document(messages, time), [prompt])
    if unemitted:
        yield context.enrich(_document(standalone_messages(unemitted, time), time), [])


def prompts_without_request(prompts: list[Prompt], context: LogContext, time: str) -> Iterator[JsonObject]:
    """Yield a document for each prompt that led to no request."""
    for prompt in prompts:
        message = build.message(
            message_id=deterministic_uuid(f"github_copilot-prompt-{canonical_json(prompt.fields).decode()}"),
            role="user",
            timestamp=time,
            content=[build.text(prompt.text)],
            metadata={"author_kind": "human", "timestamp_inferred": True},
        )
        yield context.enrich(_document([message], time), [prompt])


def _document(messages: list[JsonObject], time: str) -> JsonObject:
    times = [message["timestamp"] for message in messages if "timestamp_inferred" not in message["metadata"]]
    first = messages[0]["message_id"]
    return build.conversation(
        conversation_id=conversation_uuid(PLATFORM, min(times, default=""), first),
        platform={"name": PLATFORM},
        created_at=min(times, default=time),
        updated_at=max(times, default=None),
        messages=messages,
    )


def _editor_message(entry: Entry, name: str, parent: str | None, time: str) -> JsonObject:
    """Return an entry of the editor as a system message."""
    log = entry.log
    text = log.get("content") if entry.kind == "markdown" else log.get("error")
    own_time = timestamp_or_empty(log.get("startTime") if entry.kind == "markdown" else log.get("timestamp"))
    metadata: JsonObject = {
        "author_kind": "harness",
        "entry": log if not isinstance(text, str) else _without_text(log, text),
    }
    if not own_time:
        metadata["timestamp_inferred"] = True
    return build.message(
        message_id=deterministic_uuid(f"github_copilot-note-{name}"),
        parent_message_id=parent,
        role="system",
        timestamp=own_time or time,
        content=[build.text(text if isinstance(text, str) else "")],
        metadata=metadata,
    )


def _without_text(log: JsonObject, text: str) -> JsonObject:
    return {key: value for key, value in log.items() if value is not text}
