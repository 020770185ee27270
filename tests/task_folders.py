"""Task folders, written by a test and read as the command line reads them."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from importing import Imported, Json, check, import_folder

TASK = "0a1b2c3d-1111-4222-8333-444455556666"
BEGUN = 1_757_000_000_000


@dataclass
class Tasks:
    """One task of a product, in a folder that tells whose it is."""

    root: Path
    imported: Imported | None = None
    extensions: dict[str, str] = field(
        default_factory=lambda: {
            "roo_code": "rooveterinaryinc.roo-cline",
            "cline": "saoudrizwan.claude-dev",
            "kilo_code": "kilocode.kilo-code",
        }
    )

    def read(self, history: Any = None, rows: Any = None, platform: str = "roo_code", **sides: Any) -> Json:
        folder = self.root / self.extensions[platform] / "tasks" / TASK
        folder.mkdir(parents=True, exist_ok=True)
        files = {"api_conversation_history": history, "ui_messages": rows, **sides}
        for name, value in files.items():
            if value is not None:
                (folder / f"{name}.json").write_text(json.dumps(value, ensure_ascii=False), "utf-8")
        self.imported = import_folder(self.root)
        check(self.imported)
        (document,) = self.imported.documents
        assert document["platform"]["name"] == platform
        return document


def at(second: int) -> int:
    """A time in milliseconds, some seconds after the task was begun."""
    return BEGUN + second * 1000


def user(second: int | None, *blocks: Any, **more: Any) -> Json:
    """A turn of the user; a text is a block of text."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"role": "user", "content": content, **({} if second is None else {"ts": at(second)}), **more}


def answer(second: int | None, *blocks: Any, **more: Any) -> Json:
    return {**user(second, *blocks), "role": "assistant", **more}


def call(name: str, call_id: str = "call_1", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(content: Any, call_id: str = "call_1", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def say(second: int, kind: str, text: Any = None, **more: Any) -> Json:
    row: Json = {"ts": at(second), "type": "say", "say": kind, **more}
    if text is not None:
        row["text"] = text if isinstance(text, str) else json.dumps(text)
    return row


def ask(second: int, kind: str, text: Any = None, **more: Any) -> Json:
    row = say(second, kind, text, **more)
    return {**row, "type": "ask", "ask": row.pop("say")}


def request(second: int, **facts: Any) -> Json:
    return say(second, "api_req_started", facts)


def surroundings(mode: str = "code", model: str = "claude-sonnet-4-5") -> str:
    return (
        "<environment_details>\n# VSCode Visible Files\nplan.md\n\n"
        f"# Current Mode\n<slug>{mode}</slug>\n<name>Some Mode</name>\n<model>{model}</model>\n</environment_details>"
    )


def spoken(document: Json) -> list[tuple[str, str, str]]:
    """Role, author and the text of every message."""
    return [
        (message["role"], message["metadata"]["author_kind"], "\n".join(texts_of(message)))
        for message in document["messages"]
    ]


def texts_of(message: Json) -> list[str]:
    return [block["text"] for block in message["content"] if block["type"] == "text"]


def blocks(document: Json, kind: str) -> list[Json]:
    return [block for message in document["messages"] for block in message["content"] if block["type"] == kind]


def by_author(document: Json, author: str) -> list[Json]:
    return [message for message in document["messages"] if message["metadata"]["author_kind"] == author]
