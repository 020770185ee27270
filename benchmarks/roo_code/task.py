"""A task of Roo Code: what was sent to the model and answered, and the rows that the interface showed meanwhile."""

from typing import Any

import orjson

from prose import Prose
from trees import Json, Truth, spelled

MODEL = "claude-sonnet-4-5"
TOOLS = ["read_file", "read_file", "execute_command", "write_to_file", "search_files", "apply_diff"]
SHOWN = {
    "read_file": "readFile",
    "write_to_file": "newFileCreated",
    "search_files": "searchFiles",
    "apply_diff": "appliedDiff",
}


class Task:
    def __init__(self, prose: Prose, truth: Truth, now_ms: int, number: int, *, has_native_calls: bool) -> None:
        self.prose, self.rng, self.truth, self.now_ms, self.number = prose, prose.rng, truth, now_ms, number
        self.has_native_calls = has_native_calls
        self.task_id = prose.uuid()
        self.workspace = f"/home/dev/{prose.word()}"
        self.words = prose.paragraph(self.rng.randint(2, 20))
        self.history: list[Json] = []
        self.shown: list[Json] = []
        self.files: list[Json] = []
        self._totals = dict.fromkeys(("tokensIn", "tokensOut", "cacheWrites", "cacheReads"), 0)
        self._context = 12_000
        self._size = 0

    def fill(self, size: int) -> None:
        wrapper = "user_message" if self.has_native_calls else "task"
        self._show("text", text=self.words)
        self._send([_text(f"<{wrapper}>\n{self.words}\n</{wrapper}>")])
        self.truth.human_messages += 1
        while self._size < size:
            self._work()
            if self.rng.random() < 0.06:
                self._finish()
                self._feedback()
        self._finish()

    def row(self) -> Json:
        return {
            "id": self.task_id,
            "number": self.number,
            "ts": self.now_ms,
            "task": self.words,
            **self._totals,
            "totalCost": round(self._totals["tokensOut"] * 0.000015, 6),
            "size": self._size,
            "workspace": self.workspace,
            "mode": "code",
            "apiConfigName": "default",
            "status": "completed",
        }

    # -- turns -------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """The model thinks and calls a tool, which answers."""
        prose, rng = self.prose, self.rng
        name = rng.choice(TOOLS)
        arguments, result = self._tool(name)
        text = prose.paragraph(rng.randint(1, 4))
        thought = prose.paragraph(rng.randint(2, 10)) if rng.random() < 0.6 else ""
        call_id = prose.identifier("toolu_")
        self._answer(thought, text, call_id, name, arguments)
        self._show("ask" if name in SHOWN else "command", row=self._asked(name, arguments))
        if name == "execute_command":
            for line in result.split("\n")[:12]:
                self._show("command_output", text=line)
        where = arguments.get("path", arguments.get("command"))
        if self.has_native_calls:
            self._send([{"type": "tool_result", "tool_use_id": call_id, "content": result}])
        else:
            self._send([_text(f"[{name} for '{where}'] Result:"), _text(result)])

    def _finish(self) -> None:
        result = self.prose.markdown(self.rng.randint(2, 12))
        self._answer("", "", self.prose.identifier("toolu_"), "attempt_completion", {"result": result})
        self._show("completion_result", text=result)

    def _feedback(self) -> None:
        words = self.prose.paragraph(self.rng.randint(1, 6))
        self._show("user_feedback", text=words)
        said = f"The user has provided feedback on the results.\n<user_message>\n{words}\n</user_message>"
        if self.has_native_calls:
            call_id = self.history[-1]["content"][-1]["id"]
            self._send([{"type": "tool_result", "tool_use_id": call_id, "content": said}])
        else:
            self._send([_text("[attempt_completion] Result:"), _text(said)])
        self.truth.human_messages += 1

    def _tool(self, name: str) -> tuple[Json, str]:
        prose, rng = self.prose, self.rng
        path = f"src/{prose.word()}/{prose.word()}.py"
        match name:
            case "read_file":
                lines = prose.code(min(1_500, 1 + int(80 * rng.lognormvariate(0, 1))))
                self.files.append(self._file(path))
                return {"path": path}, "\n".join(f"{number} | {line}" for number, line in enumerate(lines, 1))
            case "execute_command":
                return {"command": f"pytest {path} -k {prose.word()}"}, prose.output(rng.randint(3, 80))
            case "write_to_file":
                content = "\n".join(prose.code(rng.randint(10, 200)))
                return {"path": path, "content": content}, f"The content was successfully saved to {path}."
            case "search_files":
                return {"path": "src", "regex": prose.word(), "file_pattern": "*.py"}, prose.output(rng.randint(2, 60))
            case _:
                old, new = "\n".join(prose.code(6)), "\n".join(prose.code(8))
                start = f"<<<<<<< SEARCH\n:start_line:{rng.randint(1, 400)}\n-------"
                diff = f"{start}\n{old}\n=======\n{new}\n>>>>>>> REPLACE"
                return {"path": path, "diff": diff}, f"Changes successfully applied to {path}."

    # -- records -----------------------------------------------------------------------------------------------------

    def _send(self, blocks: list[Json]) -> None:
        """A turn of the user's side; the row of the request shows it whole in older versions."""
        sent = [*blocks, _text(self._environment())]
        self._add({"role": "user", "content": sent, "ts": self._later(300)})
        output = self.rng.randint(60, 1_500)
        self._context += output + 800
        told: Json = {} if self.has_native_calls else {"request": "\n\n".join(map(_words, sent))}
        told |= {"tokensIn": 4, "tokensOut": output, "cacheWrites": 900, "cacheReads": self._context, "cost": 0.02}
        if self.has_native_calls:
            told |= {"tokensIn": self._context + 904, "apiProtocol": "anthropic"}
        for name in self._totals:
            self._totals[name] += told[name]
        self.truth.tokens["output_tokens"] += output
        self._show("api_req_started", text=orjson.dumps(told).decode())

    def _answer(self, thought: str, text: str, call_id: str, name: str, arguments: Json) -> None:
        self.truth.tool_calls += 1
        if thought:
            self._show("reasoning", text=thought)
        if text:
            self._show("text", text=text, partial=False)
        if self.has_native_calls:
            content: list[Json] = [{"type": "reasoning", "text": thought, "summary": []}] if thought else []
            content += [_text(text)] if text else []
            content.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
            self._add({"role": "assistant", "content": content, "ts": self._later(9_000)})
        else:
            tags = "\n".join(f"<{key}>{value}</{key}>" for key, value in arguments.items())
            said = f"{text}\n\n<{name}>\n{tags}\n</{name}>"
            self._add({"role": "assistant", "content": [_text(said)], "ts": self._later(9_000)})

    def _asked(self, name: str, arguments: Json) -> Json:
        if name not in SHOWN:
            return {"type": "ask", "ask": "command", "text": arguments["command"]}
        shown = {"tool": SHOWN[name], **arguments, "isOutsideWorkspace": False}
        return {"type": "ask", "ask": "tool", "text": orjson.dumps(shown).decode(), "partial": False}

    def _show(self, say: str, *, row: Json | None = None, **fields: Any) -> None:
        made = {"ts": self._later(40), **(row or {"type": "say", "say": say, **fields})}
        self.shown.append(made)
        self._size += len(orjson.dumps(made))

    def _add(self, record: Json) -> None:
        self.history.append(record)
        self._size += len(orjson.dumps(record))

    def _later(self, most_ms: int) -> int:
        self.now_ms += 1 + int(self.rng.random() * most_ms)
        return self.now_ms

    def _environment(self) -> str:
        prose = self.prose
        tabs = ",".join(f"src/{prose.word()}.py" for _ in range(6))
        files = "\n".join(f"src/{prose.word()}.py" for _ in range(80)) if not self.history else ""
        listing = f"\n\n# Current Workspace Directory ({self.workspace}) Files\n{files}" if files else ""
        return (
            f"<environment_details>\n# VSCode Visible Files\nsrc/{prose.word()}.py\n\n# VSCode Open Tabs\n{tabs}\n\n"
            f"# Current Time\nCurrent time in ISO 8601 UTC format: {spelled(self.now_ms)}\n"
            "User time zone: Europe/Zurich, UTC+1:00\n\n# Current Cost\n$0.12\n\n# Current Mode\n<slug>code</slug>\n"
            f"<name>Code</name>\n<model>{MODEL}</model>{listing}\n</environment_details>"
        )

    def _file(self, path: str) -> Json:
        dates = {"roo_read_date": self.now_ms, "roo_edit_date": None, "user_edit_date": None}
        return {"path": path, "record_state": "active", "record_source": "read_tool", **dates}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _words(block: Json) -> str:
    return block["text"]
