"""The tools of a session: how often each is called, what it is asked and what it answers."""

from typing import Any

from claude_code.lines import Record
from prose import Prose

TOOLS = {"Bash": 118, "Read": 57, "Edit": 36, "Grep": 15, "Write": 12, "Glob": 11, "TodoWrite": 5, "Task": 3}
SUFFIXES = [".py", ".ts", ".tsx", ".rs", ".ex", ".md", ".json"]


class Call:
    """One tool call: the block that asks, the text that answers, and the structured twin of the answer."""

    def __init__(self, name: str, prose: Prose, cwd: str, *, separator: str) -> None:
        self.name, self.prose, self.rng, self.separator = name, prose, prose.rng, separator
        self.id = prose.identifier("toolu_01")
        self.line = ""
        self.prompt = self.description = ""
        self.content: Any = ""
        self.twin: Any = None
        self.path = f"{cwd}/src/{prose.word()}/{prose.word()}{self.rng.choice(SUFFIXES)}"
        arguments = getattr(self, f"_{name.lower()}")()
        self.block = {"type": "tool_use", "id": self.id, "name": name, "input": arguments, "caller": {"type": "direct"}}

    def finish_agent(self, agent_id: str, tokens: int, report: str) -> None:
        calls = self.rng.randint(2, 30)
        spent = f"<usage>total_tokens: {tokens}\ntool_uses: {calls}\nduration_ms: {calls * 4_100}</usage>"
        tail = f"agentId: {agent_id} (for resuming to continue this agent's work if needed)\n{spent}"
        self.content = [{"type": "text", "text": report}, {"type": "text", "text": tail}]
        self.twin = {
            "status": "completed",
            "prompt": self.prompt,
            "agentId": agent_id,
            "content": [{"type": "text", "text": report}],
            "totalDurationMs": calls * 4_100,
            "totalTokens": tokens,
            "totalToolUseCount": calls,
            # Only the agent's last call, and already counted in its own file.
            "usage": {"input_tokens": 3, "cache_read_input_tokens": tokens, "output_tokens": 900},
        }

    def _size(self, median: float, spread: float, most: int) -> int:
        return min(most, 1 + int(median * self.rng.lognormvariate(0, spread)))

    def _bash(self) -> Record:
        output = self.prose.output(self._size(8, 1.2, 600))
        self.content = output
        self.twin = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        command = f"cd {self.path.rpartition('/')[0]} && {self.prose.sentence()} 2>&1 | tail -{self.rng.randint(5, 50)}"
        return {"command": command, "description": self.prose.sentence()[:60]}

    def _read(self) -> Record:
        lines = self.prose.code(self._size(60, 0.9, 2_000))
        start = self.rng.choice((1, 1, self.rng.randint(1, 900)))
        self.content = numbered(lines, self.separator, start)
        part = {"numLines": len(lines), "startLine": start, "totalLines": start + len(lines)}
        self.twin = {"type": "text", "file": {"filePath": self.path, "content": "\n".join(lines), **part}}
        return (
            {"file_path": self.path} if start == 1 else {"file_path": self.path, "offset": start, "limit": len(lines)}
        )

    def _edit(self) -> Record:
        before = self.prose.code(self._size(110, 0.9, 3_000))
        at = self.rng.randrange(len(before))
        old, new = before[at : at + 4], self.prose.code(self.rng.randint(3, 14))
        hunk = {
            "oldStart": at + 1,
            "oldLines": len(old) + 2,
            "newStart": at + 1,
            "newLines": len(new) + 2,
            "lines": [" ", *(f"-{line}" for line in old), *(f"+{line}" for line in new), " "],
        }
        change = {"oldString": "\n".join(old), "newString": "\n".join(new)}
        self.content = f"The file {self.path} has been updated successfully."
        self.twin = {
            "filePath": self.path,
            **change,
            "originalFile": "\n".join(before),
            "structuredPatch": [hunk],
            "userModified": False,
            "replaceAll": False,
        }
        strings = {"old_string": change["oldString"], "new_string": change["newString"]}
        return {"replace_all": False, "file_path": self.path, **strings}

    def _write(self) -> Record:
        text = "\n".join(self.prose.code(self._size(70, 0.8, 2_000)))
        self.content = f"File created successfully at: {self.path}"
        patch = {"structuredPatch": [], "originalFile": None}
        self.twin = {"type": "create", "filePath": self.path, "content": text, **patch}
        return {"file_path": self.path, "content": text}

    def _grep(self) -> Record:
        found = self.prose.output(self._size(10, 0.9, 250))
        self.content = found
        count = found.count("\n") + 1
        self.twin = {"mode": "content", "numFiles": 0, "filenames": [], "content": found, "numLines": count}
        return {"pattern": self.prose.word(), "path": self.path, "output_mode": "content", "-n": True}

    def _glob(self) -> Record:
        folder = self.path.rpartition("/")[0]
        names = [f"{folder}/{self.prose.word()}.py" for _ in range(self._size(6, 0.8, 100))]
        self.content = "\n".join(names)
        self.twin = {"filenames": names, "durationMs": 31, "numFiles": len(names), "truncated": False}
        return {"pattern": "**/*.py", "path": folder}

    def _todowrite(self) -> Record:
        todos = [
            {"content": self.prose.sentence(), "status": status, "activeForm": self.prose.sentence()}
            for status in ("completed", "in_progress", "pending", "pending")
        ]
        self.content = "Todos have been modified successfully. Please proceed with the current tasks if applicable"
        self.twin = {"oldTodos": todos[:2], "newTodos": todos}
        return {"todos": todos}

    def _task(self) -> Record:
        self.prompt, self.description = self.prose.paragraph(self.rng.randint(3, 20)), self.prose.sentence()[:40]
        return {"description": self.description, "prompt": self.prompt, "subagent_type": "Explore"}


def numbered(lines: list[str], separator: str, start: int = 1) -> str:
    return "\n".join([f"{number:6d}{separator}{line}" for number, line in enumerate(lines, start)])
