"""Chats of VS Code: requests with the parts of their answers, the rounds behind them, and results as rendered."""

from pathlib import Path

import orjson

from github_copilot.truth import Json, Lines, Truth, counted
from prose import Prose

START_MS = 1_760_000_000_000
MODELS = ("copilot/claude-sonnet-4.5", "copilot/gpt-5", "copilot/claude-opus-4.5")
TOOLS = {
    "copilot_readFile": "read_file",
    "copilot_findTextInFiles": "grep_search",
    "run_in_terminal": "run_in_terminal",
    "copilot_replaceString": "replace_string_in_file",
}


def write_chat(workspace: Path, size: int, prose: Prose, truth: Truth, *, is_log: bool) -> None:
    """One chat of about a size."""
    folder = workspace / "chatSessions"
    if not folder.is_dir():
        folder.mkdir(parents=True)
        path = f"file:///home/dev/{prose.word()}-{prose.word()}"
        (workspace / "workspace.json").write_bytes(orjson.dumps({"folder": path}))
    chat = _Chat(prose, truth)
    truth.conversations += 1
    if is_log:
        with Lines(folder / f"{chat.name}.jsonl", truth) as lines:
            chat.write_log(lines, size)
    else:
        (folder / f"{chat.name}.json").write_bytes(counted(chat.document(size), truth))


class _Chat:
    def __init__(self, prose: Prose, truth: Truth) -> None:
        self.name = prose.uuid()
        self._prose = prose
        self._truth = truth
        self._time = START_MS + prose.rng.randrange(10**10)
        self._model = prose.rng.choice(MODELS)

    def document(self, size: int) -> bytes:
        requests: list[Json] = []
        written = 0
        while written < size:
            request = self._request()
            requests.append({**request, **self._answer(request)})
            written += len(orjson.dumps(requests[-1]))
        return orjson.dumps({**self._session(), "requests": requests})

    def write_log(self, lines: Lines, size: int) -> None:
        lines.add({"kind": 0, "v": {**self._session(), "requests": []}})
        number = 0
        while lines.bytes < size or not number:
            for typed in range(self._prose.rng.randrange(6)):
                lines.add({"kind": 1, "k": ["inputState", "inputText"], "v": "a" * typed})
            request = self._request()
            lines.add({"kind": 2, "k": ["requests"], "v": [request]})
            answer = self._answer(request)
            parts: list[Json] = answer["response"]
            at = 0
            while at < len(parts):
                batch = parts[at : at + self._prose.rng.randint(1, 3)]
                # A part that streams is written again, as long as it grows.
                begun = (
                    {**batch[-1], "value": batch[-1]["value"][:40]} if isinstance(batch[-1].get("value"), str) else None
                )
                if begun is not None:
                    lines.add({"kind": 2, "k": ["requests", number, "response"], "v": [*batch[:-1], begun]})
                    last = at + len(batch) - 1
                    lines.add({"kind": 2, "k": ["requests", number, "response"], "v": [batch[-1]], "i": last})
                else:
                    lines.add({"kind": 2, "k": ["requests", number, "response"], "v": batch})
                at += len(batch)
            for field in ("responseId", "result", "modelState", "followups"):
                lines.add({"kind": 1, "k": ["requests", number, field], "v": answer[field]})
            number += 1

    def _session(self) -> Json:
        return {
            "version": 3,
            "sessionId": self.name,
            "creationDate": self._time,
            "customTitle": self._prose.sentence()[:60],
            "initialLocation": "panel",
            "responderUsername": "GitHub Copilot",
            "hasPendingEdits": False,
            "inputState": {
                "attachments": [],
                "mode": {"id": "agent", "kind": "agent"},
                "inputText": "",
                "selections": [],
            },
        }

    def _request(self) -> Json:
        prose = self._prose
        self._time += prose.rng.randrange(5_000, 400_000)
        self._truth.prompts += 1
        text = prose.paragraph(prose.rng.randint(1, 6))
        files = [self._file() for _ in range(prose.rng.randrange(3))]
        return {
            "requestId": f"request_{prose.uuid()}",
            "timestamp": self._time,
            "message": {
                "text": text,
                "parts": [{"range": {"start": 0, "endExclusive": len(text)}, "text": text, "kind": "text"}],
            },
            "variableData": {
                "variables": [
                    {"kind": "file", "id": path, "name": path.rpartition("/")[2], "value": _uri(path)} for path in files
                ]
            },
            "response": [],
            "agent": {
                "id": "github.copilot.editsAgent",
                "name": "agent",
                "fullName": "GitHub Copilot",
                "extensionId": {"value": "GitHub.copilot-chat", "_lower": "github.copilot-chat"},
            },
            "modelId": self._model,
            "contentReferences": [{"kind": "reference", "reference": _uri(path)} for path in files],
            "codeCitations": [],
            "timeSpentWaiting": 0,
        }

    def _answer(self, request: Json) -> Json:
        prose = self._prose
        parts: list[Json] = []
        rounds: list[Json] = []
        results: Json = {}
        for _ in range(prose.rng.randint(1, 5)):
            words = prose.markdown(prose.rng.randint(1, 8))
            parts += [
                {"kind": "thinking", "value": prose.paragraph(3), "id": prose.identifier("th_")},
                self._markdown(words),
            ]
            calls = [self._call(parts, results) for _ in range(prose.rng.choice((0, 1, 1, 1, 2)))]
            rounds.append({"id": prose.uuid(), "response": words, "toolCalls": calls, "toolInputRetry": 0})
        if prose.rng.random() < 0.5:
            path = self._file()
            parts += [
                {"kind": "codeblockUri", "uri": _uri(path), "isEdit": True},
                {"kind": "textEditGroup", "uri": _uri(path), "edits": [[self._edit()]], "done": True},
            ]
        parts += [
            {"kind": "inlineReference", "inlineReference": _uri(self._file())},
            self._markdown(prose.paragraph(2)),
        ]
        return {
            "response": parts,
            "responseId": f"response_{prose.uuid()}",
            "result": {
                "timings": {"firstProgress": 900, "totalElapsed": prose.rng.randrange(3_000, 90_000)},
                "metadata": {
                    "codeBlocks": [],
                    "renderedUserMessage": [{"type": 1, "text": self._rendered(request["message"]["text"])}],
                    "toolCallRounds": rounds,
                    "toolCallResults": results,
                    "modelMessageId": prose.uuid(),
                    "sessionId": self.name,
                    "agentId": "github.copilot.editsAgent",
                },
                "details": "Claude Sonnet 4.5 • 1x",
            },
            "modelState": {"value": 1, "completedAt": self._time + 60_000},
            "followups": [],
        }

    def _call(self, parts: list[Json], results: Json) -> Json:
        prose = self._prose
        shown, name = prose.rng.choice(list(TOOLS.items()))
        call_id = f"{prose.identifier('toolu_vrtx_01')}__vscode-{self._time}"
        given = {"filePath": self._file(), "query": prose.sentence()}
        self._truth.tool_calls += 1
        self._truth.tool_results += 1
        parts.append(
            {
                "kind": "toolInvocationSerialized",
                "toolId": shown,
                "toolCallId": call_id,
                "invocationMessage": {"value": prose.sentence(), "uris": {}},
                "pastTenseMessage": {"value": prose.sentence(), "uris": {}},
                "isConfirmed": {"type": 1},
                "isComplete": True,
                "source": {"type": "internal", "label": "Built-In"},
            }
        )
        text = prose.output(prose.rng.randint(3, 120))
        part = (
            {"$mid": 23, "value": {"node": _rendered_tree(text)}}
            if prose.rng.random() < 0.5
            else {"$mid": 21, "value": text}
        )
        results[call_id] = {"$mid": 20, "content": [part]}
        return {"id": call_id, "name": name, "arguments": orjson.dumps(given).decode()}

    def _rendered(self, text: str) -> str:
        code = "\n".join(self._prose.code(self._prose.rng.randint(10, 120)))
        return f"<attachments>\n{code}\n</attachments>\n<userRequest>\n{text}\n</userRequest>\n"

    def _markdown(self, words: str) -> Json:
        return {"value": words, "supportThemeIcons": False, "supportHtml": False, "baseUri": _uri("/home/dev/")}

    def _edit(self) -> Json:
        code = "\n".join(self._prose.code(self._prose.rng.randint(1, 30)))
        span = {"startLineNumber": 3, "startColumn": 1, "endLineNumber": 9, "endColumn": 1}
        return {"range": span, "text": code}

    def _file(self) -> str:
        return f"/home/dev/{self._prose.word()}/{self._prose.word()}_{self._prose.word()}.py"


def _uri(path: str) -> Json:
    return {"$mid": 1, "fsPath": path, "external": f"file://{path}", "path": path, "scheme": "file"}


def _rendered_tree(text: str) -> Json:
    """A result as the elements of the prompt that show it: a few texts, some levels down."""
    lines = text.split("\n")
    leaves: list[Json] = [
        {"type": 2, "text": "\n".join(lines[at : at + 25]), "priority": 9_007_199_254_740_991, "lineBreakBefore": True}
        for at in range(0, len(lines), 25)
    ]
    for name in ("Tme", "gE", "Ub"):
        leaves = [{"type": 1, "ctor": 2, "ctorName": name, "children": leaves, "props": {}, "references": []}]
    return leaves[0]
