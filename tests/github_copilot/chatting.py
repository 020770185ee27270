"""Chat sessions for tests: short ways to write one, and what an import makes of it."""

import json
from pathlib import Path
from typing import Any

from importing import Imported, check, import_folder

Json = dict[str, Any]

BEGUN = 1767600000000
"""2026-01-05T08:00:00Z, in milliseconds."""
NAME = "0ddba11e-0000-4000-8000-000000000001"


def uri(path: str, **more: Any) -> Json:
    return {"$mid": 1, "path": path, "scheme": "file", **more}


def said(text: str) -> Json:
    return {"value": text, "supportThemeIcons": False, "supportHtml": False}


def called(tool: str, call_id: str, **more: Any) -> Json:
    return {
        "kind": "toolInvocationSerialized",
        "toolId": tool,
        "toolCallId": call_id,
        "invocationMessage": f"Using {tool}",
        "isConfirmed": {"type": 1},
        "isComplete": True,
        **more,
    }


def round_of(*calls: tuple[str, str, Any], text: str = "") -> Json:
    made = [{"id": name, "name": tool, "arguments": json.dumps(given)} for name, tool, given in calls]
    return {"id": f"round {text}", "response": text, "toolCalls": made, "toolInputRetry": 0}


def asked(number: int, text: str = "And then?", *parts: Json, **more: Any) -> Json:
    request = {
        "requestId": f"request_{number}",
        "timestamp": BEGUN + number * 60_000,
        "message": {"text": text, "parts": []},
        "variableData": {"variables": []},
        "response": list(parts),
        "responseId": f"response_{number}",
        "modelId": "copilot/gpt-5-mini",
    }
    return {name: value for name, value in {**request, **more}.items() if value is not ...}


def session(*requests: Any, **more: Any) -> Json:
    return {
        "version": 3,
        "responderUsername": "GitHub Copilot",
        "initialLocation": "panel",
        "requests": list(requests),
        "sessionId": NAME,
        "creationDate": BEGUN,
        **more,
    }


def exported(*requests: Any, **more: Any) -> Json:
    """A session as "Export Chat" writes it."""
    return {name: value for name, value in session(*requests, **more).items() if name not in _OF_SAVED}


_OF_SAVED = {"version", "sessionId", "creationDate"}


def logged(*entries: Any, begin: Json | None = None) -> bytes:
    first = {"kind": 0, "v": session() if begin is None else begin}
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in (first, *entries))


def imported(folder: Path, **files: Json | bytes) -> Imported:
    """What an import makes of files; their names have `_json` and `_jsonl` for their suffixes, `__` for a slash."""
    for name, content in files.items():
        stem, _, suffix = name.replace("__", "/").rpartition("_")
        path = folder / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    found = import_folder(folder, "github_copilot")
    check(found)
    return found


def document_of(folder: Path, content: Json | bytes) -> Json:
    """The one conversation of one file."""
    found = imported(folder, chat_jsonl=content) if isinstance(content, bytes) else imported(folder, chat_json=content)
    (document,) = found.documents
    return document


def answer_of(folder: Path, *parts: Any, **more: Any) -> Json:
    """The message that the parts of an answer become."""
    messages = document_of(folder, session(asked(1, "Well?", *parts, **more)))["messages"]
    return next(message for message in messages if message["role"] == "assistant")


def texts(message: Json) -> str:
    return "|".join(block["text"] for block in message["content"] if block["type"] == "text")


def blocks(document: Json, kind: str) -> list[Json]:
    return [block for message in document["messages"] for block in message["content"] if block["type"] == kind]
