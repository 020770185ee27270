"""Formats of other assistants that have no importer yet, so that their files can be named.

The table is consulted only for files that no importer claims. A file has the first format of which any mark fits: its
path, the beginning of its text, one of its first JSON records, or the tables of its database. Once a platform has an
importer, its entries are deleted.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared import unread_record_shapes as record_shapes
from palaver.model.build import JsonObject
from palaver.sources.match import UNREAD_FORMAT
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.source import Source
from palaver.sources.sqlite_tables import is_sqlite, open_schema

_FIRST_RECORDS = 5


def _never(_: JsonObject) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class UnreadFormat:
    """A format, what it is called, and the marks by which its files are known."""

    platform: str
    """The id that its importer would have."""
    product: str
    singular: str
    plural: str
    path: str = ""
    """A pattern that is searched for in the path, with forward slashes."""
    texts: tuple[bytes, ...] = ()
    """Texts in the first 64 KB, all of them."""
    is_record: Callable[[JsonObject], bool] = _never
    """Return whether one of the first JSON objects of a file, possibly truncated, belongs to this format."""
    tables: frozenset[str] = frozenset()
    """Tables that a database of this format has, all of them."""
    query: str = ""
    """An SQL query that has a row in a database of this format."""

    @property
    def reason(self) -> str:
        """Return the text that an archive remembers for a file of this format."""
        return f"{UNREAD_FORMAT}{self.singular}"

    def sentence(self, count: int = 1) -> str:
        """Return what to say of one file, after its name, or of several."""
        are = f"is {article(self.singular)} {self.singular}" if count == 1 else f"are {self.plural}"
        return f"{are}; palaver does not read {self.product} yet"


def unread_format(source: Source) -> UnreadFormat | None:
    """Return the format of a file that no importer claims; None if it is not a known one, or cannot be read."""
    if source.is_folder:
        return None
    try:
        return _matching_format(source)
    except (PalaverError, OSError):
        return None  # the importer that reads the file reports that


def format_of_reason(reason: str) -> UnreadFormat | None:
    """Return the format that a remembered reason names."""
    return _BY_REASON.get(reason)


def format_named(name: str | None) -> UnreadFormat | None:
    """Return the format of this name, such as `Codex CLI session`."""
    return _BY_REASON.get(f"{UNREAD_FORMAT}{name}")


def sentences_on_formats(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Return a sentence on the files of each format, with their labels, the most frequent format first.

    The files are given by their labels, each with the reason that is remembered for it.
    """
    labels: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        labels.setdefault(reason, []).append(label)
    return {
        f"{'1 file' if len(files) == 1 else f'{len(files):,} files'} {known.sentence(len(files))}": files
        for reason, files in sorted(labels.items(), key=lambda group: -len(group[1]))
        if (known := _BY_REASON.get(reason))
    }


def article(noun: str) -> str:
    """Return the article that a noun is spoken with."""
    return "an" if noun.startswith(_SPOKEN_WITH_VOWEL) else "a"


_SPOKEN_WITH_VOWEL = (*"AEIOaeio", "llm", "M4A", "MP", "RTF", "SQL", "XML", "xz")


def _matching_format(source: Source) -> UnreadFormat | None:
    path = source.label.replace("\\", "/").replace("!", "/")
    head = source.head()
    if is_sqlite(head):
        return _matching_database(source)
    records = list(_first_records(source)) if record_shapes.MARKS.search(head) else []
    for known in UNREAD_FORMATS:
        is_named = bool(known.path) and re.search(known.path, path) is not None
        has_texts = bool(known.texts) and all(text in head for text in known.texts)
        if is_named or has_texts or any(map(known.is_record, records)):
            return known
    return None


def _matching_database(source: Source) -> UnreadFormat | None:
    with closing(open_schema(source)) as database:
        tables = database.tables()
        for known in UNREAD_FORMATS:
            is_like = bool(known.tables) and known.tables <= tables
            if is_like and (not known.query or database.has_row(known.query)):
                return known
    return None


def _first_records(source: Source) -> Iterator[JsonObject]:
    """Yield the first objects of a file: the document itself, elements of an array, or lines."""
    document = source.parsed_head()
    values = document if isinstance(document, list) else [document]
    yield from (value for value in values[:_FIRST_RECORDS] if isinstance(value, dict))
    for line in source.head().split(b"\n", _FIRST_RECORDS)[1:_FIRST_RECORDS]:
        if line.startswith(b"{"):
            try:
                value: Any = parse(line)
            except NOT_JSON:
                continue
            if isinstance(value, dict):
                yield value


_CURSOR_KEYS = (
    "select 1 from ItemTable where key in ('composer.composerData', 'aiService.prompts', 'aiService.generations',"
    " 'workbench.panel.aichat.view.aichat.chatdata') limit 1"
)

UNREAD_FORMATS: tuple[UnreadFormat, ...] = (
    UnreadFormat(
        "codex",
        "Codex",
        "Codex CLI session",
        "Codex CLI sessions",
        path=r"(?:^|/)rollout-[^/]+\.jsonl(?:\.zst)?$",
        is_record=record_shapes.is_codex_line,
    ),
    UnreadFormat(
        "codex",
        "Codex",
        "Codex CLI prompt history",
        "Codex CLI prompt histories",
        is_record=record_shapes.is_codex_prompt,
    ),
    UnreadFormat("codex", "Codex", "Codex CLI index", "Codex CLI indexes", is_record=record_shapes.is_codex_index_line),
    UnreadFormat("cursor", "Cursor", "Cursor database", "Cursor databases", tables=frozenset({"cursorDiskKV"})),
    UnreadFormat(
        "cursor",
        "Cursor",
        "Cursor workspace database",
        "Cursor workspace databases",
        tables=frozenset({"ItemTable"}),
        query=_CURSOR_KEYS,
    ),
    UnreadFormat("cursor", "Cursor", "Cursor agent chat", "Cursor agent chats", tables=frozenset({"blobs", "meta"})),
    UnreadFormat(
        "cursor",
        "Cursor",
        "Cursor agent transcript",
        "Cursor agent transcripts",
        path=r"/agent-transcripts/.+\.(?:jsonl|txt)$",
        is_record=record_shapes.is_cursor_turn,
    ),
    UnreadFormat(
        "gemini_cli", "Gemini CLI", "Gemini CLI session", "Gemini CLI sessions", is_record=record_shapes.is_gemini_cli
    ),
    UnreadFormat(
        "gemini_apps",
        "Gemini",
        "Gemini export",
        "Gemini exports",
        path=r"/(?:Gemini Apps|Bard)/My ?Activity\.html$",  # its style sheet fills the head
        texts=(b'class="outer-cell ', b"Gemini"),
        is_record=record_shapes.is_gemini_activity,
    ),
    UnreadFormat(
        "ai_studio",
        "Google AI Studio",
        "Google AI Studio prompt",
        "Google AI Studio prompts",
        is_record=record_shapes.is_ai_studio,
    ),
    UnreadFormat(
        "opencode",
        "OpenCode",
        "OpenCode database",
        "OpenCode databases",
        tables=frozenset({"session", "message", "part"}),
    ),
    UnreadFormat(
        "opencode", "OpenCode", "OpenCode session file", "OpenCode session files", is_record=record_shapes.is_opencode
    ),
    UnreadFormat(
        "open_webui", "Open WebUI", "Open WebUI export", "Open WebUI exports", is_record=record_shapes.is_open_webui
    ),
    UnreadFormat(
        "open_webui",
        "Open WebUI",
        "Open WebUI database",
        "Open WebUI databases",
        tables=frozenset({"chat", "auth", "user"}),
    ),
    UnreadFormat(
        "grok",
        "Grok",
        "Grok export",
        "Grok exports",
        texts=(b"window.YTD.grok_chat_item",),
        is_record=record_shapes.is_grok,
    ),
    UnreadFormat(
        "grok", "Grok", "Grok Build session", "Grok Build sessions", path=r"/\.grok/sessions/.+/chat_history\.jsonl$"
    ),
    UnreadFormat(
        "librechat", "LibreChat", "LibreChat export", "LibreChat exports", is_record=record_shapes.is_librechat
    ),
    UnreadFormat(
        "chatbot_ui", "Chatbot UI", "Chatbot UI export", "Chatbot UI exports", is_record=record_shapes.is_chatbot_ui
    ),
    UnreadFormat(
        "aider",
        "aider",
        "aider chat history",
        "aider chat histories",
        path=r"(?:^|/)\.aider\.(?:chat\.history\.md|input\.history)$",
        texts=(b"# aider chat started at ",),
    ),
    UnreadFormat(
        "crush",
        "Crush",
        "Crush database",
        "Crush databases",
        tables=frozenset({"goose_db_version", "sessions", "messages", "files"}),
    ),
    UnreadFormat(
        "goose",
        "goose",
        "goose database",
        "goose databases",
        tables=frozenset({"schema_version", "sessions", "messages"}),
        query="select 1 from pragma_table_info('messages') where name = 'content_json'",
    ),
    UnreadFormat("goose", "goose", "goose session", "goose sessions", is_record=record_shapes.is_goose_header),
    UnreadFormat("llm", "llm", "llm database", "llm databases", tables=frozenset({"_llm_migrations"})),
    UnreadFormat("qwen_code", "Qwen Code", "Qwen Code session", "Qwen Code sessions", is_record=record_shapes.is_qwen),
    UnreadFormat(
        "zed",
        "Zed",
        "Zed database",
        "Zed databases",
        tables=frozenset({"threads"}),
        query="select 1 from pragma_table_info('threads') where name = 'data_type'",
    ),
    UnreadFormat("zed", "Zed", "Zed text thread", "Zed text threads", path=r"\.zed\.json$"),
    UnreadFormat("amp", "Amp", "Amp thread", "Amp threads", is_record=record_shapes.is_amp),
    UnreadFormat(
        "kiro",
        "Kiro",
        "Kiro session",
        "Kiro sessions",
        path=r"/kiro\.kiroagent/.+\.(?:json|chat)$",
        is_record=record_shapes.is_kiro,
    ),
    UnreadFormat("kiro", "Kiro", "Kiro database", "Kiro databases", tables=frozenset({"conversations_v2"})),
    UnreadFormat("atif", "ATIF", "ATIF trajectory", "ATIF trajectories", is_record=record_shapes.is_atif),
    UnreadFormat(
        "otlp",
        "OpenTelemetry traces other than Copilot's",
        "OpenTelemetry trace",
        "OpenTelemetry traces",
        is_record=record_shapes.is_otlp,
    ),
    UnreadFormat("pi", "pi", "pi session", "pi sessions", is_record=record_shapes.is_pi),
    UnreadFormat(
        "droid", "Factory Droid", "Factory Droid session", "Factory Droid sessions", is_record=record_shapes.is_droid
    ),
    UnreadFormat(
        "claude_cowork",
        "Claude Cowork records",
        "Claude Cowork record",
        "Claude Cowork records",
        is_record=record_shapes.is_cowork,
    ),
    UnreadFormat(
        "lm_studio",
        "LM Studio",
        "LM Studio conversation",
        "LM Studio conversations",
        path=r"\.conversation\.json$",
        is_record=record_shapes.is_lm_studio,
    ),
    UnreadFormat("le_chat", "Le Chat", "Le Chat export", "Le Chat exports", is_record=record_shapes.is_le_chat),
    UnreadFormat(
        "warp", "Warp", "Warp database", "Warp databases", tables=frozenset({"ai_queries", "agent_conversations"})
    ),
    UnreadFormat(
        "windsurf", "Windsurf", "Windsurf conversation", "Windsurf conversations", path=r"/windsurf/cascade/[^/]+\.pb$"
    ),
)

_BY_REASON = {known.reason: known for known in UNREAD_FORMATS}
