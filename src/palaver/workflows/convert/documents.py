"""Conversation documents made of exchanges, and requests made of conversation documents."""

import copy
from functools import partial

import orjson

from palaver.errors import ContentError
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import deterministic_uuid
from palaver.model.upgrade import upgrade
from palaver.validation.repair import make_serializable, repair_document
from palaver.validation.schema import is_valid, schema_errors
from palaver.wire import Loss
from palaver.wire._contract import Losses
from palaver.wire._places import Places, Pointers
from palaver.wire._unwritten import report_fields, report_unwritten
from palaver.workflows.convert.parts import NOTES, UNKNOWN_MODEL, Converted, PartName, Parts, prompt_roles

_CARRIED_FIELDS = {"message_id", "role", "content"}
_HEADER_FIELDS = ("title", "session", "context", "summaries", "metrics", "tags", "rating", "created_at", "updated_at")


def request_from_document(document: JsonObject) -> Parts:
    """Convert a conversation's active path to the request that would continue it, as far as APIs can express it."""
    document = upgrade(document)
    if not is_valid(document):
        error = next(schema_errors(document))
        raise ContentError(f"not a conversation document: {error.pointer or '/'}: {error.message}")
    losses: list[Loss] = []
    pointers: Pointers = {}
    request: JsonObject = {"model": document["platform"].get("model") or UNKNOWN_MODEL, "messages": []}
    for index, message in enumerate(document["messages"]):
        where = f"/messages/{index}"
        if (message.get("metadata") or {}).get("on_active_path") is False:
            losses.append(Loss(where, "on an abandoned branch"))
            continue
        content = [
            _code_as_text(block, f"{where}/content/{number}", losses) for number, block in enumerate(message["content"])
        ]
        role = message["role"]
        if role == "system" and not request["messages"]:
            system: list[JsonObject] = request.setdefault("system", [])
            for number, block in enumerate(content):
                pointers[f"/system/{len(system)}"] = (f"{where}/content/{number}",)
                system.append(block)
            continue
        pointers[f"/messages/{len(request['messages'])}"] = (where,)
        if role == "system":
            losses.append(Loss(f"{where}/role", "a request has its system prompt first", "changed"))
            request["messages"].append({"role": "user", "content": content})
        else:
            request_role = "tool" if role == "function" else role
            if request_role != role:
                losses.append(Loss(f"{where}/role", f"{role} became {request_role}", "changed"))
            request["messages"].append({"role": request_role, "content": content})
    places = partial(Places, document, "", {"model": ("platform/model",)}, pointers)
    return Parts(request, losses=[*losses, *_document_losses(document)], places={"request": places})


def _code_as_text(block: JsonObject, where: str, losses: list[Loss]) -> JsonObject:
    if block["type"] != "code":
        return block
    losses.append(Loss(where, "code became fenced text", "changed"))
    return build.text(f"```{block.get('language') or ''}\n{block['code']}\n```")


def _document_losses(document: JsonObject) -> list[Loss]:
    """List the fields that no API can carry, each once, at its first occurrence."""
    losses = [
        Loss(f"/{name}", "not supported in a request") for name in _HEADER_FIELDS if document.get(name) is not None
    ]
    first: dict[str, tuple[int, int]] = {}
    for index, message in enumerate(document["messages"]):
        for name, value in message.items():
            if name not in _CARRIED_FIELDS and value is not None:
                where, count = first.get(name, (index, 0))
                first[name] = where, count + 1
    for name, (index, count) in first.items():
        others = f" (here and in {count - 1:,} other messages)" if count > 1 else ""
        losses.append(Loss(f"/messages/{index}/{name}", f"not supported in a request{others}"))
    return losses


def conversation_document(parts: Parts, time: str) -> Converted:
    """Convert a request with its response to a conversation; a message without a time gets the given one."""
    losses = _request_losses(parts)
    time = parts.frame.get("started_at") or time
    turns = [*_request_turns(parts), *_answer_turns(parts)]
    name = _PLATFORMS.get(parts.provider, parts.provider or "other")
    identity = deterministic_uuid(f"{name}-{turns!r}")
    messages: list[JsonObject] = []
    for number, turn in enumerate(turns):
        made: JsonObject = {"message_id": f"{identity}-{number}", "role": turn["role"], "timestamp": time, **turn}
        if "timestamp" not in turn:
            made["metadata"] = {**turn["metadata"], "timestamp_inferred": True}
        messages.append({**made, "content": turn["content"] or [build.text("")]})
    platform: JsonObject = {"name": name}
    model = (parts.response or {}).get("model") or (parts.request or {}).get("model")
    if model and model != UNKNOWN_MODEL:
        platform["model"] = model
    document = build.conversation(conversation_id=identity, platform=platform, created_at=time, messages=messages)
    repairs: list[Loss] = []
    document = _valid_document(document, repairs)
    return Converted(document, [*losses, *_located_repairs(repairs, parts)])


_PLATFORMS = {"openai": "openai_api", "anthropic": "anthropic_api", "google": "gemini_api"}
_AUTHORS = {"user": "human", "assistant": "model", "tool": "tool"}


def _request_turns(parts: Parts) -> list[JsonObject]:
    request = parts.request or {"messages": []}
    turns: list[JsonObject] = []
    if system := request.get("system"):
        turns.append({"role": "system", "content": system, "metadata": {"author_kind": "harness"}})
    for message in request["messages"]:
        is_prompt = bool(prompt_roles(message))
        turns.append(
            {
                "role": "system" if is_prompt else message["role"],
                "content": message["content"],
                "metadata": _message_metadata(message) | ({"author_kind": "harness"} if is_prompt else {}),
            }
        )
    return turns


def _answer_turns(parts: Parts) -> list[JsonObject]:
    """Return the answer, and further ones with their number as `completion_index`."""
    response = parts.response
    if response is None:
        return []
    facts = {
        "api_message_id": response.get("response_id"),
        "request_id": parts.frame.get("exchange_id"),
        "duration_ms": parts.frame.get("duration_ms"),
    }
    facts = {name: value for name, value in facts.items() if value is not None}
    answers = [{"index": 0, **response}, *(response.get("alternatives") or ())]
    turns: list[JsonObject] = []
    for answer in answers:
        metadata = _message_metadata({"role": "assistant", **answer}) | facts
        if len(answers) > 1:
            metadata["completion_index"] = answer["index"]
        turn = {"role": "assistant", "content": answer["content"], "metadata": metadata}
        if response.get("created_at"):
            turn["timestamp"] = response["created_at"]
        turns.append(turn)
    if tokens := _tokens(response, parts.provider):
        turns[0]["tokens"] = tokens
    return turns


def _message_metadata(message: JsonObject) -> JsonObject:
    is_result = any(block["type"] == "tool_result" for block in message["content"])
    metadata: JsonObject = {"author_kind": "tool" if is_result else _AUTHORS[message["role"]]}
    for name, target in (
        ("provider_data", "provider_data"),
        ("finish_reason", "stop_reason"),
        ("model", "model_override"),
        ("provider", "provider"),
        ("thinking", "thinking_level"),
    ):
        if message.get(name) is not None:
            metadata[target] = message[name]
    return metadata


_TOKENS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "thinking_tokens": "thinking_tokens",
    "cached_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
    "total_tokens": "total_tokens",
}


def _tokens(response: JsonObject, provider: str) -> JsonObject:
    """Return the token counts under the names of conversation documents; what the provider itself states wins.

    Documents have the provider's own numbers: Anthropic counts the cache apart from the input, an exchange within it.
    """
    usage: JsonObject = response.get("usage") or {}
    tokens = {_TOKENS[name]: value for name, value in usage.items() if name in _TOKENS and value is not None}
    if provider == "anthropic" and "input_tokens" in tokens:
        cached = sum(tokens.get(name) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens"))
        tokens["input_tokens"] = max(0, tokens["input_tokens"] - cached)
    for data in (usage.get("provider_data") or {}).values():
        tokens |= {name: value for name, value in data.items() if name not in NOTES}
    if tier := response.get("service_tier"):
        tokens.setdefault("service_tier", tier)
    return tokens


def _request_losses(parts: Parts) -> list[Loss]:
    """List the settings of a request and the facts around it that a conversation document cannot carry."""
    losses = Losses()
    request = parts.request or {}
    carried = ("system", "messages", "model", "tools", "sampling")
    report_unwritten(request, carried, "", losses, own="", title=_TITLE, carried=("tools",))
    report_fields(request.get("sampling") or {}, (), "/sampling", losses, title=_TITLE)
    if any("tools" in holder for holder in (request, *(request.get("provider_data") or {}).values())):
        losses.drop("/tools", f"not supported in {_TITLE}")
    kept = {"started_at"} if parts.response is None else {"started_at", "exchange_id", "duration_ms"}
    return [
        *parts.located("request", losses.found),
        *(parts.frame_loss(name, f"not supported in {_TITLE}") for name in parts.frame if name not in kept),
    ]


_TITLE = "a conversation document"


def _located_repairs(repairs: list[Loss], parts: Parts) -> list[Loss]:
    """Return the repairs of a document with pointers into the value that it was made of."""
    turns = _content_pointers(parts)
    found: list[Loss] = []
    for repair in repairs:
        match repair.pointer.split("/"):
            case ["", "messages", number, "content", *rest]:
                part, start = turns[int(number)]
                found += parts.located(part, [repair._replace(pointer="/".join((start, *rest)))])
            case ["", "messages", number, *_]:
                part, start = turns[int(number)]
                found += parts.located(part, [repair._replace(pointer=start.removesuffix("/content"))])
            case _:
                found.append(repair._replace(pointer=""))
    return found


def _content_pointers(parts: Parts) -> list[tuple[PartName, str]]:
    """Return where the request or response has the content of each message of the document."""
    found: list[tuple[PartName, str]] = []
    if parts.request is not None:
        if parts.request.get("system"):
            found.append(("request", "/system"))
        found.extend(("request", f"/messages/{number}/content") for number, _ in enumerate(parts.request["messages"]))
    if parts.response is not None:
        alternatives = parts.response.get("alternatives") or ()
        found.append(("response", "/content"))
        found.extend(("response", f"/alternatives/{number}/content") for number, _ in enumerate(alternatives))
    return found


def _valid_document(document: JsonObject, losses: list[Loss]) -> JsonObject:
    """Return a document that the published schema accepts, with the repairs that an import would make."""

    def note(kind: FindingKind, where: str, message: str = "", *, kept: bool = True) -> None:
        _ = kept
        reason = f"{kind.meaning} ({message})" if message else kind.meaning
        losses.append(Loss(where if where.startswith("/") else "", reason, "changed"))

    try:
        if is_valid(document):
            orjson.dumps(document)
            return document
    except (TypeError, ValueError):
        pass  # it holds an integer past 64 bits, or is nested too deeply
    document = copy.deepcopy(document)  # its parts belong to the caller
    make_serializable(document, note)
    if repair_document(document, note) is None:
        error = next(schema_errors(document))
        raise ContentError(f"cannot be converted to a conversation document: {error.pointer or '/'}: {error.message}")
    return document
