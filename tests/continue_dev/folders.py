"""What the tests of Continue share: its folder, written in a few words, and an import of it."""

import json
from pathlib import Path
from typing import Any

from importing import Imported, check, import_folder, set_time

Json = dict[str, Any]

SESSION = "0b5c8f8e-5d5f-4f43-9a39-3f5c8d1f2a00"


def user(content: Any, **around: Any) -> Json:
    return {"message": {"role": "user", "content": content}, "contextItems": [], **around}


def assistant(content: Any, message: Json | None = None, **around: Any) -> Json:
    return {"message": {"role": "assistant", "content": content, **(message or {})}, "contextItems": [], **around}


def thinking(content: Any, **message: Any) -> Json:
    return {"message": {"role": "thinking", "content": content, **message}, "contextItems": []}


def result(call_id: str, content: Any) -> Json:
    return {"message": {"role": "tool", "content": content, "toolCallId": call_id}, "contextItems": []}


def call(call_id: str, name: str = "ls", **arguments: Any) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def state(made: Json, status: str = "done", output: str | None = None) -> Json:
    found: Json = {"toolCallId": made["id"], "toolCall": made, "status": status, "parsedArgs": {}}
    return found if output is None else {**found, "output": [{"name": "x", "description": "y", "content": output}]}


def session(*history: Any, **around: Any) -> Json:
    return {
        "sessionId": SESSION,
        "title": "Wells",
        "workspaceDirectory": "/home/jo/well",
        **around,
        "history": [*history],
    }


def row(session_id: str = SESSION, **fields: Any) -> Json:
    return {
        "sessionId": session_id,
        "title": "Wells",
        "dateCreated": "1739118823126",
        "workspaceDirectory": "",
        **fields,
    }


def event(name: str, time: str | None = "2025-02-09T17:00:00.000Z", **fields: Any) -> Json:
    agent = "Visual Studio Code/1.104.2 (Continue/1.2.8)"
    base = {"timestamp": time, "userId": "", "userAgent": agent, "eventName": name, "schema": "0.2.0"}
    return {**base, **fields}


def folder(at: Path, files: dict[str, Any]) -> Path:
    """Continue's folder with some files: values as JSON, lists for names in `.jsonl` as lines, texts as they are."""
    root = at / ".continue"
    for name, value in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, str):
            path.write_text(value, "utf-8")
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(one) + "\n" for one in value), "utf-8")
        else:
            path.write_text(json.dumps(value, indent=2), "utf-8")
        set_time(path)
    return root


def imported(at: Path, files: dict[str, Any]) -> Imported:
    found = import_folder(folder(at, files), "continue_dev")
    check(found)
    return found


def document(at: Path, *history: Any, rows: list[Json] | None = None, **more: Any) -> Json:
    """The one document of a folder with one session; `more` are the session's other fields, or files."""
    files = {name: value for name, value in more.items() if "." in name}
    around = {name: value for name, value in more.items() if "." not in name}
    if rows is not None:
        files["sessions/sessions.json"] = rows
    (made,) = imported(at, {f"sessions/{SESSION}.json": session(*history, **around), **files}).documents
    return made


def texts(made: Json) -> list[str]:
    """The words of each message."""
    return ["".join(block.get("text", "") for block in message["content"]) for message in made["messages"]]


def roles(made: Json) -> list[str]:
    return [message["role"] for message in made["messages"]]
