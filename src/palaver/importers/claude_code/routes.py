"""Which conversation a line of a session file belongs to.

Most files hold one. Until 2.0.2x agents were written inline (`isSidechain`, each with a root of its own); a file whose
name is not a session id may hold several sessions, put together by hand.
"""

from collections.abc import Callable, Iterator

from palaver.importers.claude_code.content import blocks, plain_text
from palaver.importers.claude_code.transcript import Transcript
from palaver.model.build import JsonObject
from palaver.sources.run import Run


class Routes:
    def __init__(
        self, main: Transcript, run: Run, fallback_time: Callable[[], str], *, splits: bool, branches: bool = True
    ) -> None:
        self.main = main
        self.splits = splits
        self.branches = branches
        self.sidechains: dict[str, Transcript] = {}
        self.sessions: dict[str, Transcript] = {}
        self._run = run
        self._fallback_time = fallback_time

    def all(self) -> Iterator[Transcript]:
        yield self.main
        yield from self.sessions.values()
        yield from self.sidechains.values()

    def close(self) -> None:
        for transcript in self.all():
            transcript.close()

    def of(self, record: JsonObject) -> Transcript:
        session_id = record.get("sessionId")
        transcript = self.main
        if self.splits and session_id and session_id != self.main.session_id and isinstance(session_id, str):
            transcript = self.sessions.get(session_id) or self._new_session(session_id)
        if self.branches and record.get("isSidechain"):
            return self._sidechain(transcript, record)
        return transcript

    def agent(self, owner: Transcript, agent_id: str) -> Transcript:
        """The conversation of an agent that has no file of its own."""
        transcript = self.sidechains.get(agent_id)
        if transcript is None:
            transcript = self.sidechains[agent_id] = Transcript(
                owner.agent_conversation(agent_id),
                self._run,
                session_id=owner.session_id,
                fallback_time=self._fallback_time,
                parent_id=owner.conversation_id,
                is_sidechain=True,
                agent_id=agent_id,
                outer=owner,
            )
        return transcript

    def _new_session(self, session_id: str) -> Transcript:
        transcript = self.sessions[session_id] = Transcript(
            session_id, self._run, session_id=session_id, fallback_time=self._fallback_time
        )
        return transcript

    def _sidechain(self, owner: Transcript, record: JsonObject) -> Transcript:
        if isinstance((agent_id := record.get("agentId")), str):
            return self.agent(owner, agent_id)
        parent = record.get("parentUuid")
        if isinstance(parent, str):
            for transcript in reversed(self.sidechains.values()):
                if transcript.resolve(parent) is not None:
                    return transcript
        elif parent is None and "uuid" not in record and self.sidechains:
            return next(reversed(self.sidechains.values()))
        root = record.get("uuid")
        transcript = self.agent(owner, root if isinstance(root, str) else f"inline-{len(self.sidechains) + 1}")
        self._link(owner, transcript, record)
        return transcript

    def _link(self, owner: Transcript, transcript: Transcript, record: JsonObject) -> None:
        """A sidechain's first prompt is the prompt of the call that started it."""
        message = record.get("message")
        prompt = plain_text(blocks(message.get("content"))) if isinstance(message, dict) else None
        for call_id, (message_id, called_with) in reversed(owner.tasks.items()):
            if prompt and called_with == prompt:
                transcript.facts["parent_tool_use_id"] = call_id
                transcript.fork_point = message_id
                return
        if (known := owner.resolve(record.get("parentUuid"))) is not None and known:
            transcript.fork_point = known
