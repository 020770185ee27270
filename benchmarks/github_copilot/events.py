"""Sessions of the command line: one event a line, each naming the one before it."""

from datetime import UTC, datetime
from pathlib import Path

from github_copilot.truth import Json, Lines, Truth
from prose import Prose

START = datetime(2026, 2, 1, tzinfo=UTC).timestamp()


def write_session(folder: Path, size: int, prose: Prose, truth: Truth) -> None:
    name = prose.uuid()
    truth.conversations += 1
    with Lines(folder / name / "events.jsonl", truth) as lines:
        session = _Session(lines, prose, truth)
        session.start(name)
        while lines.bytes < size or not session.turns:
            session.turn()
        session.end()
    (folder / name / "workspace.yaml").write_text(f"id: {name}\ncwd: /home/dev/{prose.word()}\n", "utf-8")


class _Session:
    def __init__(self, lines: Lines, prose: Prose, truth: Truth) -> None:
        self.turns = 0
        self._lines = lines
        self._prose = prose
        self._truth = truth
        self._seconds = START + prose.rng.randrange(10**7)
        self._before: str | None = None
        self._output_tokens = 0

    def start(self, name: str) -> None:
        context = {"cwd": "/home/dev/work", "gitRoot": "/home/dev/work", "branch": "main"}
        self._add(
            "session.start",
            {
                "sessionId": name,
                "version": 1,
                "producer": "copilot-agent",
                "copilotVersion": "1.0.84",
                "startTime": self._time(),
                "selectedModel": "claude-sonnet-4.5",
                "context": context,
            },
        )
        self._add("system.message", {"role": "system", "content": self._prose.paragraph(60)})

    def turn(self) -> None:
        prose = self._prose
        self.turns += 1
        self._truth.prompts += 1
        text = prose.paragraph(prose.rng.randint(1, 5))
        self._add(
            "user.message",
            {
                "content": text,
                "transformedContent": f"<current_datetime>{self._time()}</current_datetime>\n\n{text}",
                "attachments": [],
                "interactionId": prose.uuid(),
            },
        )
        self._add("assistant.turn_start", {"turnId": str(self.turns)})
        for _ in range(prose.rng.randint(1, 8)):
            self._round()
        self._message(prose.markdown(prose.rng.randint(2, 20)), [])
        self._add("assistant.turn_end", {"turnId": str(self.turns)})

    def end(self) -> None:
        usage = {"inputTokens": 9_000 * self.turns, "outputTokens": self._output_tokens, "cacheReadTokens": 7_000}
        metrics = {"claude-sonnet-4.5": {"requests": {"count": self.turns, "cost": self.turns}, "usage": usage}}
        self._add("session.shutdown", {"shutdownType": "routine", "totalPremiumRequests": 1, "modelMetrics": metrics})

    def _round(self) -> None:
        prose = self._prose
        calls = [
            {
                "toolCallId": prose.identifier("toolu_01"),
                "name": "bash",
                "arguments": {"command": prose.output(1), "description": prose.sentence()},
                "type": "function",
            }
            for _ in range(prose.rng.choice((1, 1, 1, 2)))
        ]
        self._truth.tool_calls += len(calls)
        self._truth.tool_results += len(calls)
        self._message(prose.sentence(), calls)
        for call in calls:
            start = {"toolCallId": call["toolCallId"], "toolName": "bash", "arguments": call["arguments"]}
            self._add("tool.execution_start", start)
        for call in calls:
            output = prose.output(prose.rng.randint(2, 150))
            result = {"content": f"{output}\n<exited with exit code 0>", "detailedContent": output}
            told = {"toolCallId": call["toolCallId"], "success": True, "result": result, "toolTelemetry": {}}
            self._add("tool.execution_complete", told)

    def _message(self, words: str, calls: list[Json]) -> None:
        prose = self._prose
        tokens = len(words) // 4 + 1
        self._output_tokens += tokens
        self._add(
            "assistant.message",
            {
                "messageId": prose.identifier("msg_"),
                "content": words,
                "reasoningText": prose.paragraph(2),
                "reasoningOpaque": prose.signature(600),
                "toolRequests": calls,
                "outputTokens": tokens,
            },
        )

    def _add(self, kind: str, told: Json) -> None:
        self._seconds += self._prose.rng.random() * 3
        name = self._prose.uuid()
        self._lines.add({"type": kind, "data": told, "id": name, "timestamp": self._time(), "parentId": self._before})
        self._before = name

    def _time(self) -> str:
        return f"{datetime.fromtimestamp(self._seconds, UTC):%Y-%m-%dT%H:%M:%S}.{int(self._seconds * 1000) % 1000:03}Z"
