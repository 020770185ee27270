"""What happens in a session: turns of prompt, answers and tool results, agents, compaction, copies."""

import re
from datetime import UTC, datetime
from pathlib import Path

import orjson

from claude_code.lines import ERAS, TOKEN_FIELDS, Era, Lines, Record, Truth
from claude_code.tools import TOOLS, Call, numbered
from prose import Prose

CLOSING_BYTES = 4_000
CONTEXT_LIMIT = 165_000
FRESH_CONTEXT = 18_000


def new_session(projects: Path, cwd: str, prose: Prose, truth: Truth) -> "Session":
    era = prose.rng.choices(ERAS, [era.weight for era in ERAS])[0]
    has_hooks = not era.is_late and prose.rng.random() < 0.8
    return session_of(era, projects, cwd, prose, truth, has_hooks=has_hooks)


def session_of(era: Era, projects: Path, cwd: str, prose: Prose, truth: Truth, *, has_hooks: bool) -> "Session":
    path = projects / re.sub("[^a-zA-Z0-9]", "-", cwd) / f"{prose.uuid()}.jsonl"
    start = datetime(2026, 2, 1, tzinfo=UTC).timestamp() + prose.rng.random() * 180 * 86_400
    lines = Lines(path, era, prose, truth, now_ms=int(start * 1_000))
    lines.set_common_fields(path.stem, cwd)
    return Session(lines, cwd, has_hooks=has_hooks)


class Session:
    def __init__(self, lines: Lines, cwd: str, *, has_hooks: bool) -> None:
        self.lines, self.cwd, self.has_hooks = lines, cwd, has_hooks
        self.era, self.prose, self.rng, self.truth = lines.era, lines.prose, lines.prose.rng, lines.truth
        self.may_start_agents = True
        self.context = FRESH_CONTEXT
        self.edited: list[str] = []
        self.shown: list[Record] = []

    def replay(self, earlier: "Session") -> None:
        """Begins as a forked session does: with another one's lines up to a prompt, under the own session id."""
        lines = earlier.lines.path.read_bytes().splitlines(keepends=True)
        records = [orjson.loads(line) for line in lines]
        end = self.rng.choice([index for index, record in enumerate(records) if _is_prompt(record)])
        old, new = earlier.lines.session_id.encode(), self.lines.session_id.encode()
        answers, agents = set(), set()
        for line, record in zip(lines[:end], records[:end], strict=True):
            self.lines.write_line(line.replace(old, new))
            self.lines.parent = record.get("uuid", self.lines.parent)
            if record["type"] == "assistant":
                answers.add(record["message"]["id"])
            if record["type"] == "progress" and "agentId" in record["data"]:
                agents.add(record["data"]["agentId"])
            self.truth.messages += record["type"] == "user" or _is_queued_prompt(record)
        self.truth.messages += len(answers)
        # The files of these agents stay with the earlier session: here they are known from their progress only.
        self.truth.conversations += len(agents)
        self.lines.now_ms = max(self.lines.now_ms, earlier.lines.now_ms)

    def fill(self, target: int) -> None:
        self._open()
        self._turn(target)
        while self.lines.size < target:
            self._turn(target)

    def _open(self) -> None:
        lines, prose = self.lines, self.prose
        if self.era.is_late:
            lines.write({"type": "permission-mode", "permissionMode": "acceptEdits", "sessionId": lines.session_id})
            hook = {"type": "hook_success", "hookName": "SessionStart:startup", "toolUseID": prose.uuid()}
            output = {"hookEvent": "SessionStart", "content": "", "stdout": prose.sentence(), "stderr": ""}
            lines.attach({**hook, **output, "exitCode": 0, "command": "session-context", "durationMs": 90})
            lines.attach({"type": "skill_listing", "content": "- " + "\n- ".join(prose.sentences[:9])})
        elif self.rng.random() < 0.2:
            lines.write({"type": "summary", "summary": prose.sentence(), "leafUuid": prose.uuid()})
        if self.has_hooks:
            lines.hook("SessionStart", "startup", prose.uuid())

    def _turn(self, target: int) -> None:
        rng, lines = self.rng, self.lines
        lines.now_ms += rng.randint(5_000, 120_000)
        started_ms = lines.now_ms
        text = self.prose.markdown(max(1, int(rng.lognormvariate(0.9, 0.9))))
        uuid = self.prose.uuid()
        lines.snapshot(uuid, self.edited)
        lines.prompt(text, uuid)
        if self.has_hooks:
            lines.hook("UserPromptSubmit", "", self.prose.uuid())
        for _ in range(min(120, int(rng.lognormvariate(2.4, 0.9)))):
            if lines.size + CLOSING_BYTES >= target:
                break
            self._answer(self._choose_tools())
            if rng.random() < 0.02:
                self._queue_prompt()
        self._answer([])
        if self.has_hooks:
            lines.stop_hook_summary()
        if rng.random() < 0.7:
            lines.turn_duration(lines.now_ms - started_ms)
        if self.era.is_late:
            own = {"sessionId": lines.session_id}
            lines.write({"type": "last-prompt", "lastPrompt": text[:200], "leafUuid": lines.parent, **own})
            lines.write({"type": "ai-title", "aiTitle": self.prose.sentence()[:60], **own})
        if self.context > CONTEXT_LIMIT:
            self._compact()

    def _answer(self, tools: list[str]) -> None:
        """One API answer: a line for each block, all with its id and usage, and the results of its tools."""
        calls = [self._call(name) for name in tools]
        blocks = [*self._words(is_last=not tools), *(call.block for call in calls)]
        usages = self._usages(len(blocks), sum(_length(block) for block in blocks) // 4)
        stop_reason = "tool_use" if tools else "end_turn"
        answer = {"id": self.prose.identifier("msg_01"), "requestId": self.prose.identifier("req_011C")}
        # Nearly always all calls are written before the first result, but not quite always.
        result_follows_call = self.rng.random() < 0.1
        for position, (block, usage) in enumerate(zip(blocks, usages, strict=True), len(calls) - len(blocks)):
            is_complete = position == len(calls) - 1 or self.era.has_final_usage_everywhere
            line = self.lines.assistant(answer, block, stop_reason if is_complete else None, usage)
            self._show(line)
            if position >= 0:
                calls[position].line = line["uuid"]
                if result_follows_call:
                    self._respond(calls[position])
        if not result_follows_call:
            for call in calls:
                self._respond(call)
        self.truth.messages += 1
        self.truth.api_messages += 1
        for name in TOKEN_FIELDS:
            self.truth.tokens[name] += max(usage[name] for usage in usages)

    def _words(self, *, is_last: bool) -> list[Record]:
        rng, prose = self.rng, self.prose
        blocks: list[Record] = []
        if rng.random() < 0.25:
            # Later models keep their reasoning to themselves: only the signature is recorded.
            thought = "" if self.era.has_final_usage_everywhere else prose.paragraph(rng.randint(2, 14))
            signature = prose.signature(rng.randint(300, 1_400))
            blocks.append({"type": "thinking", "thinking": thought, "signature": signature})
        if is_last:
            blocks.append({"type": "text", "text": prose.markdown(1 + int(rng.lognormvariate(1.9, 0.7)))})
        elif rng.random() < 0.5:
            blocks.append({"type": "text", "text": prose.markdown(rng.randint(1, 3))})
        return blocks

    def _usages(self, lines: int, output: int) -> list[Record]:
        """The usage on each line: while the answer streams a placeholder, at its end (nearly always) the maximum."""
        rng = self.rng
        fresh, written, output = rng.randint(0, 6), rng.randint(100, 4_000), output + rng.randint(3, 60)
        cache = {"cache_creation_input_tokens": written, "cache_read_input_tokens": self.context}
        self.context += written + output
        final = {
            "input_tokens": fresh,
            **cache,
            "output_tokens": output,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": written, "ephemeral_5m_input_tokens": 0},
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
        }
        if self.era.has_final_usage_everywhere:
            return [final] * lines
        # More often than real files have it, so that taking the last line instead of the maximum shows in small trees.
        placeholder = {
            "input_tokens": fresh + 1 if rng.random() < 0.01 else fresh,
            **cache,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": written},
            "output_tokens": output + 1 if rng.random() < 0.02 else rng.randint(1, 10),
            "service_tier": "standard",
            "inference_geo": "not_available",
        }
        return [placeholder] * (lines - 1) + [final]

    def _choose_tools(self) -> list[str]:
        count = self.rng.choices((1, 2, 3, 4), (82, 11, 5, 2))[0]
        tools = self.rng.choices(list(TOOLS), list(TOOLS.values()), k=count)
        return tools if self.may_start_agents else ["Bash" if name == "Task" else name for name in tools]

    def _call(self, name: str) -> Call:
        call = Call(name, self.prose, self.cwd, separator="\t" if self.era.is_late else "\u2192")
        if name in {"Edit", "Write"}:
            self.edited = [*self.edited[-11:], call.path]
        return call

    def _respond(self, call: Call) -> None:
        rng, lines = self.rng, self.lines
        lines.parent = call.line
        if self.has_hooks:
            self._hooks_around(call)
        if call.name == "Task":
            self._run_agent(call)
        result: Record = {"tool_use_id": call.id, "type": "tool_result", "content": call.content}
        twin = call.twin
        if rng.random() < 0.04:
            problem = f"Exit code 1\n{self.prose.output(rng.randint(1, 30))}"
            result = {"type": "tool_result", "content": problem, "is_error": True, "tool_use_id": call.id}
            twin = f"Error: {problem}"
        elif call.name == "Bash":
            result["is_error"] = False
        # The result hangs on its call, beside the progress lines; in an agent's file it has no structured twin.
        lines.parent = call.line
        extra = {} if lines.agent_id else {"toolUseResult": twin, "sourceToolAssistantUUID": call.line}
        self._show(lines.user([result], self.prose.uuid(), extra))
        if call.name == "Edit" and self.era.is_late and rng.random() < 0.1:
            snippet = numbered(self.prose.code(8), "\t")
            lines.attach({"type": "edited_text_file", "filename": call.path, "snippet": snippet})

    def _hooks_around(self, call: Call) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            self.lines.hook("PreToolUse", call.name, call.id)
        if call.name == "Bash" and rng.random() < 0.2:
            output: list[str] = []
            for seconds in range(2, rng.randint(4, 12)):
                output.append(self.prose.output(rng.randint(0, 2)))
                full = "\n".join(output)
                content = {"type": "bash_progress", "output": full[-400:], "fullOutput": full}
                content |= {"elapsedTimeSeconds": seconds, "totalLines": full.count("\n") + 1, "timeoutMs": 120000}
                self.lines.progress(content, f"bash-progress-{seconds - 2}", call.id)
        for _ in range(rng.choice((1, 1, 2, 3))):
            self.lines.hook("PostToolUse", call.name, call.id)

    def _run_agent(self, call: Call) -> None:
        rng, prose, lines = self.rng, self.prose, self.lines
        agent_id = f"a{rng.getrandbits(64):016x}" if self.era.is_late else f"a{rng.getrandbits(24):06x}"
        path = lines.path.with_suffix("") / "subagents" / f"agent-{agent_id}.jsonl"
        agent = Session(
            Lines(path, self.era, prose, self.truth, now_ms=lines.now_ms), self.cwd, has_hooks=self.has_hooks
        )
        agent.may_start_agents = False
        agent.lines.set_common_fields(lines.session_id, self.cwd, agent_id)
        with agent.lines.opened():
            agent._show(agent.lines.user(call.prompt, prose.uuid(), {}))
            for _ in range(rng.randint(2, 14)):
                agent._answer(agent._choose_tools())
            agent._answer([])
        lines.now_ms = agent.lines.now_ms
        if self.era.is_late:
            side = {"agentType": "Explore", "description": call.description, "toolUseId": call.id, "spawnDepth": 1}
            path.with_suffix(".meta.json").write_bytes(orjson.dumps(side))
            self.truth.side_files += 1
        for shown in agent.shown:
            content = {"message": shown, "normalizedMessages": [], "type": "agent_progress"}
            content |= {"prompt": call.prompt, "agentId": agent_id}
            lines.progress(content, prose.identifier("agent_msg_01"), call.id)
        call.finish_agent(agent_id, agent.context, prose.markdown(rng.randint(6, 40)))

    def _show(self, line: Record) -> None:
        """Keeps an agent's first lines: earlier versions repeat them in the session as progress."""
        if self.lines.agent_id and not self.era.is_late and len(self.shown) < 8:
            names = ("type", "message", "requestId", "uuid", "timestamp")
            self.shown.append({name: line[name] for name in names if name in line})

    def _queue_prompt(self) -> None:
        """A prompt typed while the model works: drawn into the running turn, or taken from the queue as a line."""
        text, typed = self.prose.sentence(), self.lines.stamp()
        self.lines.queue("enqueue", typed, content=text)
        if self.era.is_late:
            self.lines.queue("remove", self.lines.stamp())
            origin = {"commandMode": "prompt", "origin": {"kind": "human"}, "timestamp": typed}
            self.lines.attach({"type": "queued_command", "prompt": text, **origin})
            self.truth.messages += 1
        else:
            self.lines.queue("dequeue", self.lines.stamp())
            self.lines.prompt(text, self.prose.uuid())

    def _compact(self) -> None:
        self.lines.compact_boundary(self.context)
        opening = "This session is being continued from a previous conversation that ran out of context."
        marks = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self.lines.user(f"{opening}\n{self.prose.markdown(60)}", self.prose.uuid(), marks)
        self.context = FRESH_CONTEXT


def _length(block: Record) -> int:
    content = block.get("text") or block.get("thinking") or block.get("input") or ""
    return len(content) if isinstance(content, str) else sum(len(str(value)) for value in content.values())


def _is_prompt(record: Record) -> bool:
    return record["type"] == "user" and isinstance(record["message"]["content"], str)


def _is_queued_prompt(record: Record) -> bool:
    return record["type"] == "attachment" and record["attachment"]["type"] == "queued_command"
