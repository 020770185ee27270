"""A session of Continue: a chat, or an agent that calls tools, with the prompt of every call of the model."""

from typing import Any

import orjson

from prose import Prose
from trees import Json, Truth, spelled

MODELS = [
    ("Claude Sonnet", "anthropic", "claude-sonnet-4-5"),
    ("GPT", "openai", "gpt-5.1"),
    ("Local Qwen", "ollama", "qwen3-coder:30b"),
]
TOOLS = {
    "read_file": ("filepath", "Read file", "read"),
    "grep_search": ("query", "Grep search", "search for"),
    "file_glob_search": ("pattern", "Glob file search", "find files that match"),
    "run_terminal_command": ("command", "Run terminal command", "run"),
}
AGENT = "Visual Studio Code/1.109.5 (Continue/1.2.16)"


class Session:
    def __init__(self, prose: Prose, truth: Truth, now_ms: int) -> None:
        self.prose, self.rng, self.truth, self.now_ms = prose, prose.rng, truth, now_ms
        self.session_id = prose.uuid()
        self.created_ms = now_ms
        self.is_agent = self.rng.random() < 0.6
        self.title, self.provider, self.model = self.rng.choice(MODELS)
        self.workspace = f"file:///c%3A/grove/{prose.word()}"
        self.history: list[Json] = []
        self.events: dict[str, list[Json]] = {"chatInteraction": [], "toolUsage": [], "tokensGenerated": []}
        system = f"<important_rules>\n  {prose.paragraph(self.rng.randint(6, 40))}\n</important_rules>"
        self._told = [_tagged("system", system)]
        """All that was said so far, as it stands in a prompt."""
        self._size = 0

    def fill(self, size: int) -> None:
        self._turn(size)
        while self._size < size:
            self._turn(size)

    def document(self) -> Json:
        return {
            "sessionId": self.session_id,
            "title": self.prose.sentence()[:60],
            "workspaceDirectory": self.workspace,
            "history": self.history,
            "mode": "agent" if self.is_agent else "chat",
            "chatModelTitle": self.title,
        }

    def row(self) -> Json:
        return {
            "sessionId": self.session_id,
            "title": self.prose.sentence()[:60],
            "dateCreated": str(self.created_ms),
            "workspaceDirectory": self.workspace,
            "messageCount": sum(item["message"]["role"] == "assistant" for item in self.history),
        }

    def _turn(self, size: int) -> None:
        self._ask()
        if self.is_agent:
            self._add({"message": {"role": "assistant", "content": "", "id": self.prose.uuid()}, "contextItems": []})
            for _ in range(self.rng.randint(0, 7)):
                if self._size > size:
                    break
                self._work()
        self._answer()

    def _ask(self) -> None:
        prose, rng = self.prose, self.rng
        text = prose.paragraph(rng.randint(1, 6))
        items = [self._file() for _ in range(rng.choice((0, 0, 0, 1, 2)))]
        words = [{"type": "text", "text": text}]
        item = {
            "message": {"role": "user", "content": words, "id": prose.uuid()},
            "contextItems": items,
            "editorState": {"type": "doc", "content": [{"type": "paragraph", "content": words}]},
            "appliedRules": [],
        }
        self._add(item)
        self._told.append(_tagged("user", "\n\n".join([*(file["content"] for file in items), text])))
        self.truth.human_messages += 1

    def _file(self) -> Json:
        name = f"{self.prose.word()}.py"
        path = f"{self.workspace}/src/{name}"
        code = "\n".join(self.prose.code(self.rng.randint(5, 120)))
        return {
            "content": f"```{path}\n{code}\n```",
            "name": name,
            "description": path,
            "uri": {"type": "file", "value": path},
            "id": {"providerTitle": "file", "itemId": self.prose.uuid()},
            "editing": False,
            "editable": True,
        }

    def _work(self) -> None:
        """The model thinks, and calls tools, which answer."""
        prose, rng = self.prose, self.rng
        if rng.random() < 0.5:
            thought = {"reasoningId": prose.identifier("rs_"), "encrypted_content": prose.signature(844)}
            message = {"role": "thinking", "content": prose.paragraph(rng.randint(3, 15)), "metadata": thought}
            self._add({"message": {**message, "id": prose.uuid()}, "contextItems": []})
        states = [self._call() for _ in range(rng.choice((1, 1, 1, 2, 4)))]
        calls = [state["toolCall"] for state in states]
        text = prose.sentence() if rng.random() < 0.4 else ""
        spelled_calls = "\n".join(f"{call['function']['name']}({call['function']['arguments']})" for call in calls)
        self._say(text, f"{text}\n{spelled_calls}", toolCalls=calls, states=states)
        for state in states:
            content = "\n\n".join(output["content"] for output in state["output"])
            message = {"role": "tool", "content": content, "toolCallId": state["toolCallId"], "id": prose.uuid()}
            self._add({"message": message, "contextItems": []})
            self._told.append(_tagged("tool", content))
            self._note("toolUsage", **_usage(state))

    def _call(self) -> Json:
        prose, rng = self.prose, self.rng
        name = rng.choice([*TOOLS, "read_file"])
        parameter, title, verb = TOOLS[name]
        output = prose.output(rng.randint(1, 60)) if rng.random() < 0.6 else "\n".join(prose.code(rng.randint(5, 150)))
        arguments = {parameter: prose.sentence()[:40]}
        call_id = prose.identifier("call_")
        function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
        self.truth.tool_calls += 1
        return {
            "toolCallId": call_id,
            "toolCall": {"id": call_id, "type": "function", "function": function},
            "status": "done",
            "parsedArgs": arguments,
            "tool": _definition(name, parameter, title, verb),
            "output": [{"name": title, "description": verb, "content": output}],
        }

    def _answer(self) -> None:
        text = self.prose.markdown(self.rng.randint(3, 40))
        extra: Json = {}
        if not self.is_agent and self.rng.random() < 0.4:
            thought = self.prose.paragraph(self.rng.randint(2, 20))
            extra["reasoning"] = {
                "active": False,
                "text": thought,
                "startAt": self.now_ms,
                "endAt": self.now_ms + 4_000,
            }
        self._say(text, text, **extra)

    def _say(self, text: str, told: str, states: list[Json] | None = None, **extra: Any) -> None:
        """An answer, with what was sent and what came back piece by piece."""
        prompt = "".join(self._told)
        completion = "".join(_tagged("assistant", piece) for piece in _chunks(told))
        log = {"modelTitle": self.title, "modelProvider": self.provider, "prompt": prompt, "completion": completion}
        message: Json = {"role": "assistant", "content": text, "id": self.prose.uuid()}
        if calls := extra.pop("toolCalls", None):
            message["toolCalls"] = calls
        item: Json = {"message": message, "contextItems": [], **extra, "promptLogs": [log], "isGatheringContext": False}
        if states is not None:
            item["toolCallStates"] = states
        self._add(item)
        self._told.append(_tagged("assistant", told))
        self.now_ms += self.rng.randrange(2_000, 40_000)
        self._note("chatInteraction", **log, modelName=self.title, sessionId=self.session_id)
        tokens = {"promptTokens": len(prompt) // 4, "generatedTokens": len(told) // 4}
        self._note("tokensGenerated", model=self.model, provider=self.provider, **tokens)

    def _note(self, event: str, **fields: Any) -> None:
        around = {"timestamp": spelled(self.now_ms), "userId": "", "userAgent": AGENT, "selectedProfileId": "local"}
        self.events[event].append({**around, "eventName": event, "schema": "0.2.0", **fields})

    def _add(self, item: Json) -> None:
        self.history.append(item)
        self._size += len(orjson.dumps(item))


def _tagged(role: str, text: str) -> str:
    return f"<{role}>\n{text}\n\n"


def _chunks(text: str) -> list[str]:
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])]


def _definition(name: str, parameter: str, title: str, verb: str) -> Json:
    properties = {parameter: {"type": "string", "description": f"What to {verb}, relative to the workspace."}}
    schema = {"type": "object", "required": [parameter], "properties": properties}
    return {
        "type": "function",
        "displayTitle": title,
        "wouldLikeTo": f"{verb} {{{{{{ {parameter} }}}}}}",
        "isCurrently": f"{verb}ing {{{{{{ {parameter} }}}}}}",
        "hasAlready": f"did {verb} {{{{{{ {parameter} }}}}}}",
        "readonly": name != "run_terminal_command",
        "isInstant": True,
        "group": "Built-In",
        "function": {
            "name": name,
            "description": f"Use this tool to {verb} something in the workspace.",
            "parameters": schema,
        },
        "defaultToolPolicy": "allowedWithoutPermission",
        "systemMessageDescription": {"prefix": f"To {verb}, use the {name} tool:", "exampleArgs": [[parameter, "x"]]},
        "toolCallIcon": "MagnifyingGlassIcon",
    }


def _usage(state: Json) -> Json:
    function = state["toolCall"]["function"]
    return {
        "toolCallId": state["toolCallId"],
        "functionName": function["name"],
        "functionParams": state["tool"]["function"]["parameters"],
        "toolCallArgs": function["arguments"],
        "accepted": True,
        "succeeded": True,
        "output": state["output"],
    }
