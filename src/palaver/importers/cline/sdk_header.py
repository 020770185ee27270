"""What is known of a whole session: its manifest, the database, and what stands around its messages.

A session without a manifest, as agents' are, is described by its row in the database.
"""

from collections import Counter

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.importers.cline.sdk_authors import typed_words
from palaver.importers.cline.sdk_database import LINEAGE
from palaver.importers.cline.sdk_files import is_session_id
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run

PLATFORM = "cline"
_STATUSES: dict[str, build.Status] = {
    "idle": "active",
    "running": "active",
    "pending": "active",
    "completed": "completed",
    "cancelled": "completed",
    "failed": "error",
}
_EDITORS = frozenset({"vscode", "jetbrains", "neovim"})
_AGENTS = ("subagent", "teammate")
_PATHS = frozenset({"messages_path", "compaction_path", "messagesPath", "compactionPath", "hookPath"})
_MAPPED = frozenset({*_PATHS, "session_id", "started_at", "model", "cwd", "workspace_root", "prompt", "metadata"})
_AROUND = frozenset({"messages", "system_prompt", "sessionId", "updated_at"})
_LONGEST_TITLE = 120
"""Where the product itself cuts a title."""


class Header:
    """The facts of one session, and the documents that they head."""

    def __init__(self, session_id: str, manifest: JsonObject, row: JsonObject, around: JsonObject) -> None:
        self.session_id = session_id
        self._facts = manifest or row
        self._row = row
        self._around = dict(around)
        own = self._facts.get("metadata")
        self._own: JsonObject = own if isinstance(own, dict) else {}
        self.is_sidechain = around.get("agent") in _AGENTS or row.get("is_subagent") is True
        prompt = self._facts.get("prompt")
        self.prompt = prompt if isinstance(prompt, str) and prompt.strip() else ""
        self.first_words = ""
        """What was typed first; a title where there is no other."""
        self.models: Counter[str] = Counter()
        """The models that answered, with how often."""
        self.summaries: list[JsonObject] = []
        self.views: list[JsonObject] = []
        """What is said of compacted views."""
        self.started_at = readable_timestamp(self._facts.get("started_at")) or self._from_id()

    def document(self, messages: list[JsonObject], created_at: str, fragment: JsonObject | None) -> JsonObject:
        platform: JsonObject = {"name": PLATFORM}
        if (version := self._version()) is not None:
            platform["version"] = version
        if (model := self._model()) is not None:
            platform["model"] = model
        if metadata := self._metadata(model):
            platform["metadata"] = metadata
        return build.conversation(
            conversation_id=self.session_id,
            title=self._title(),
            platform=platform,
            session=self._session(),
            context=self._context(),
            created_at=created_at,
            updated_at=self.updated_at() or None,
            status=self._status(),
            messages=messages,
            summaries=self.summaries or None,
            fragment=fragment,
        )

    def learn(self, message: JsonObject) -> None:
        """Take in what a message says of the whole."""
        if message["role"] == "assistant":
            if model := message["metadata"].get("model_override"):
                self.models[model] += 1
        elif not self.first_words and message["metadata"]["author_kind"] in {"human", "model"}:
            texts = (block["text"] for block in message["content"] if block["type"] == "text")
            self.first_words = next(filter(typed_words, texts), "")

    def learn_around(self, around: JsonObject) -> None:
        """Take in what stands around the messages, some of it behind them."""
        self._around |= around

    def add_view(self, name: str, around: JsonObject) -> None:
        """Take in what stands around a compacted view, and not around the messages."""
        rest = {key: value for key, value in around.items() if value is not None and value != self._around.get(key)}
        self.views.append({"file": name, **rest})

    @property
    def system_prompt(self) -> str:
        stated = self._around.get("system_prompt")
        return stated if isinstance(stated, str) and stated.strip() else ""

    def updated_at(self) -> str:
        stated = (self._around.get("updated_at"), self._facts.get("ended_at"), self._facts.get("updated_at"))
        return max(map(readable_timestamp, stated))

    def note_times(self, run: Run) -> None:
        """Tell of times that are missing or cannot be read."""
        for facts, name in ((self._facts, "started_at"), (self._facts, "ended_at"), (self._around, "updated_at")):
            if facts.get(name) is not None and not readable_timestamp(facts[name]):
                run.note(BAD_TIMESTAMP, self.session_id, f"{name} {facts[name]!r:.60}")
        if not self.started_at:
            run.note(INFERRED_TIMESTAMP, self.session_id, "the conversation has no time of its own")

    def _from_id(self) -> str:
        """When the session began by its id, which the product makes of the time."""
        made = is_session_id(self.session_id)
        return readable_timestamp(int(made[1])) if made else ""

    def _title(self) -> str | None:
        stated = self._own.get("title")
        if isinstance(stated, str) and stated.strip():
            return stated
        first_line = typed_words(self.prompt or self.first_words).split("\n", 1)[0].strip()
        return first_line[:_LONGEST_TITLE] or None

    def _status(self) -> build.Status | None:
        stated = self._facts.get("status")
        return _STATUSES.get(stated) if isinstance(stated, str) else None

    def _version(self) -> str | None:
        for holder in (self._around.get("origin"), self._own.get("sessionHistoryOrigin")):
            if isinstance(holder, dict) and isinstance((version := holder.get("version")), str) and version:
                return version
        return None

    def _model(self) -> str | None:
        """The model that answered most often, else the one that was chosen."""
        if self.models:
            return self.models.most_common(1)[0][0]
        chosen = self._facts.get("model")
        return chosen if isinstance(chosen, str) and chosen else None

    def _metadata(self, model: str | None) -> JsonObject:
        """What has no place elsewhere, under its own name; what is said twice stands once."""
        facts = {name: value for name, value in self._facts.items() if name not in _MAPPED and value is not None}
        if facts.get("version") == 1:
            del facts["version"]
        if (status := facts.get("status")) == self._status() and status is not None:
            del facts["status"]
        if self._facts.get("model") not in (None, model):
            facts["model"] = self._facts["model"]
        kept: JsonObject = dict(facts)
        if not isinstance(self._facts.get("metadata"), dict | None):
            kept["metadata"] = self._facts["metadata"]
        self._add(kept, {name: value for name, value in self._own.items() if name not in {*_PATHS, "title"}})
        around = {name: value for name, value in self._around.items() if name not in _AROUND and value is not None}
        if around.get("version") == 1:
            del around["version"]
        prompt = self._around.get("system_prompt")
        if prompt is not None and not isinstance(prompt, str):
            around["system_prompt"] = prompt
        self._add(kept, around)
        self._add(kept, {name: self._row[name] for name in LINEAGE if name in self._row})
        if self.prompt and typed_words(self.prompt) != typed_words(self.first_words):
            kept["prompt"] = self.prompt
        elif not isinstance(self._facts.get("prompt"), str) and self._facts.get("prompt") is not None:
            kept["prompt"] = self._facts["prompt"]
        if self.views:
            kept["compactions"] = self.views
        return kept

    def _add(self, kept: JsonObject, more: JsonObject) -> None:
        for name, value in more.items():
            said = self._facts.get(_PLAIN.get(name, name))
            if name not in kept and value != said:
                kept[name] = value
            elif value not in (kept.get(name), said):
                kept.setdefault("source_fields", {})[name] = value

    def _session(self) -> JsonObject:
        session: JsonObject = {"session_id": self.session_id, "is_sidechain": self.is_sidechain}
        if (parent := self._parent()) is not None and parent != self.session_id:
            session["parent_conversation_id"] = parent
        return session

    def _parent(self) -> str | None:
        """The session that started this one, or that it was forked from."""
        origin, fork = self._around.get("origin"), self._own.get("fork")
        stated = (
            self._row.get("parent_session_id"),
            origin.get("parentThreadId") if isinstance(origin, dict) else None,
            fork.get("forkedFromSessionId") if isinstance(fork, dict) else None,
            self.session_id.partition("__")[0] if self.is_sidechain and "__" in self.session_id else None,
        )
        return next((parent for parent in stated if isinstance(parent, str) and parent), None)

    def _context(self) -> JsonObject | None:
        context: JsonObject = {}
        cwd, root, source = (self._facts.get(name) for name in ("cwd", "workspace_root", "source"))
        folder = next((path for path in (root, cwd) if isinstance(path, str) and path), None)
        if folder is not None:
            context["workspace"] = {"path": folder}
        if isinstance(source, str) and source in _EDITORS:
            context["environment"] = {"editor": source}
        custom = {
            name: path for name, path in (("cwd", cwd), ("workspace_root", root)) if path not in (None, "", folder)
        }
        if custom:
            context["custom"] = custom
        return context or None


_PLAIN = {"enableTools": "enable_tools", "enableSpawn": "enable_spawn", "enableTeams": "enable_teams"}
"""Names under which a manifest's own metadata repeat what it says itself."""
