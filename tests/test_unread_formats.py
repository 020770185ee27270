"""Formats without an importer: each is known by its marks, and never takes a file from an importer."""

import json
import os
import sqlite3
import zipfile
from pathlib import Path

import pytest

from importing import CHECKOUT, FIXTURES
from palaver.importers import importer, match_importers, platforms, winner
from palaver.importers._shared.unread_formats import UNREAD_FORMATS, format_named, format_of_reason, unread_format
from palaver.sources.source import Source

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples")
ID = "0a1b2c3d-0000-4000-8000-00000000e001"


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


CODEX = {"timestamp": "2026-02-03T10:00:00Z", "type": "session_meta", "payload": {"id": ID, "cwd": "/work"}}
FILES = {
    "Codex CLI session": [
        ("rollout-2026-02-03T10-00-00-x.jsonl", lines(CODEX, {**CODEX, "type": "event_msg", "payload": {"type": "x"}})),
        ("renamed.jsonl", lines({**CODEX, "type": "response_item"})),
        ("bare.jsonl", lines({"id": ID, "timestamp": "2025-08-01T00:00:00Z", "instructions": None, "git": {}})),
        ("states.jsonl", lines({"type": "message", "role": "user", "content": []}, {"record_type": "state"})),
        ("oldest.json", json.dumps({"session": {"id": ID, "timestamp": "t", "instructions": ""}, "items": []})),
    ],
    "Codex CLI prompt history": [("history.jsonl", lines({"session_id": ID, "ts": 1_770_000_000, "text": "Go on."}))],
    "Codex CLI index": [
        ("session_index.jsonl", lines({"id": ID, "thread_name": "Tides", "updated_at": "2026-02-03T10:00:00Z"}))
    ],
    "Cursor agent transcript": [
        ("projects/x/agent-transcripts/one.jsonl", "torn"),
        ("copied.jsonl", lines({"role": "user", "message": {"content": [{"type": "text", "text": "Go on."}]}})),
        (f"projects/x/agent-transcripts/{ID}.txt", "user:\nGo on.\n"),
    ],
    "Gemini CLI session": [
        ("session-1.json", json.dumps({"sessionId": ID, "projectHash": "ab", "startTime": "t", "messages": []})),
        ("session-2.jsonl", lines({"sessionId": ID, "projectHash": "ab"}, {"$set": {"messages": []}})),
        (
            "logs.json",
            json.dumps([{"sessionId": ID, "messageId": 0, "type": "user", "message": "Go on.", "timestamp": "t"}]),
        ),
    ],
    "Gemini export": [
        (
            "MyActivity.json",
            json.dumps(
                [{"header": "Gemini Apps", "title": "Prompted tides", "time": "t", "products": ["Gemini Apps"]}]
            ),
        ),
        ("Takeout/My Activity/Gemini Apps/MyActivity.html", "<html><style>"),
        (
            "page.html",
            '<html><title>Tides</title><div class="outer-cell mdl-cell"><p>Gemini Apps</p></div></html>',
        ),
        (
            "conversation_1.txt",
            json.dumps({"title": "Tides", "conversation_turns": [{"user_turn": {"prompt": "When?"}}]}),
        ),
    ],
    "Google AI Studio prompt": [
        ("Tides", json.dumps({"runSettings": {"model": "m"}, "chunkedPrompt": {"chunks": []}}))
    ],
    "OpenCode session file": [
        ("ses_1.json", json.dumps({"id": "ses_1", "projectID": "p", "title": "Tides"})),
        ("msg_1.json", json.dumps({"id": "msg_1", "sessionID": "ses_1", "role": "user"})),
        ("prt_1.json", json.dumps({"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text"})),
    ],
    "Open WebUI export": [
        ("chat-export-1.json", json.dumps([{"id": ID, "chat": {"history": {"messages": {}, "currentId": "m"}}}])),
        ("chat-tides.json", json.dumps({"title": "Tides", "models": ["m"], "history": {"messages": {}}})),
    ],
    "Grok export": [
        ("prod-grok-backend.json", json.dumps({"conversations": [{"conversation": {"id": ID}, "responses": []}]})),
        ("grok-chat-item.js", 'window.YTD.grok_chat_item.part0 = [{"grokChatItem": {}}]'),
    ],
    "Grok Build session": [(f".grok/sessions/%2Fwork/{ID}/chat_history.jsonl", lines({"type": "user", "content": []}))],
    "LibreChat export": [
        ("tides.json", json.dumps({"conversationId": ID, "endpoint": "openAI", "exportAt": "10:00", "messages": []})),
        ("messages.jsonl", lines({"messageId": "m", "conversationId": ID, "isCreatedByUser": True, "text": "When?"})),
    ],
    "Chatbot UI export": [("chatbotui.json", json.dumps({"version": 4, "history": [], "folders": [], "prompts": []}))],
    "aider chat history": [
        (".aider.chat.history.md", ""),
        ("copied.md", "\n# aider chat started at 2025-08-06 12:07:01\n\n#### when is high tide?  \n"),
        (".aider.input.history", "\n# 2025-08-06 12:07:01.123456\n+when is high tide?\n"),
    ],
    "goose session": [
        ("20250812_101500.jsonl", lines({"working_dir": "/work", "description": "Tides", "message_count": 2}))
    ],
    "Qwen Code session": [
        (
            f"{ID}.jsonl",
            lines(
                {
                    "uuid": "u",
                    "parentUuid": None,
                    "sessionId": ID,
                    "type": "user",
                    "message": {"parts": [{"text": "x"}]},
                }
            ),
        )
    ],
    "Zed text thread": [("conversations/Tides - 1.zed.json", "{}")],
    "Amp thread": [("T-1.json", json.dumps({"v": 1, "id": "T-1", "created": 1_767_225_600_000, "messages": []}))],
    "Kiro session": [
        (f"{ID}.jsonl", lines({"version": "v1", "kind": "Prompt", "data": {"content": []}})),
        ("globalStorage/kiro.kiroagent/aa/bb.chat", "{}"),
    ],
    "ATIF trajectory": [
        ("trajectory.json", json.dumps({"schema_version": "ATIF-v1.4", "session_id": "s", "steps": []}))
    ],
    "OpenTelemetry trace": [
        ("traces.json", json.dumps({"resourceSpans": []})),
        ("logs.json", lines({"resourceLogs": []})),
    ],
    "pi session": [
        ("one.jsonl", lines({"type": "session", "version": 3, "id": ID, "timestamp": "t", "cwd": "/work"})),
        (
            "omp.jsonl",
            lines(
                {"type": "title", "v": 1, "title": "T"}, {"type": "session", "id": ID, "timestamp": "t", "cwd": "/w"}
            ),
        ),
    ],
    "Factory Droid session": [(f"{ID}.jsonl", lines({"type": "session_start", "id": ID, "cwd": "/work"}))],
    "Claude Cowork record": [
        (
            f"local_{ID}.json",
            json.dumps({"sessionId": "s", "cliSessionId": ID, "cwd": "/work", "createdAt": 1, "lastActivityAt": 2}),
        )
    ],
    "LM Studio conversation": [
        ("1770000000000.conversation.json", "{}"),
        ("copied.json", json.dumps({"messages": [{"versions": [{"type": "singleStep"}], "currentlySelected": 0}]})),
    ],
    "Le Chat export": [("chat-1.json", json.dumps([{"id": "m", "chatId": ID, "role": "user", "contentChunks": None}]))],
    "Windsurf conversation": [(f".codeium/windsurf/cascade/{ID}.pb", b"\x8f\x01\x02\xff")],
}
DATABASES = {
    "Cursor database": ["create table cursorDiskKV (key text, value blob)", "create table ItemTable (key, value)"],
    "Cursor workspace database": [
        "create table ItemTable (key text, value blob)",
        "insert into ItemTable values ('composer.composerData', '{}')",
    ],
    "Cursor agent chat": ["create table blobs (id, data)", "create table meta (key, value)"],
    "OpenCode database": ["create table session (id)", "create table message (id, data)", "create table part (id)"],
    "Open WebUI database": ["create table chat (id)", "create table auth (id)", "create table user (id)"],
    "Crush database": [f"create table {name} (id)" for name in ("goose_db_version", "sessions", "messages", "files")],
    "goose database": [
        "create table schema_version (version)",
        "create table sessions (id)",
        "create table messages (id, content_json)",
    ],
    "llm database": ["create table _llm_migrations (name)", "create table responses (id)"],
    "Zed database": ["create table threads (id, data_type, data)"],
    "Kiro database": ["create table conversations_v2 (key, conversation_id, value)"],
    "Warp database": ["create table ai_queries (id)", "create table agent_conversations (id)"],
}
OTHER_DATABASES = {
    "settings of VS Code": ["create table ItemTable (key, value)", "insert into ItemTable values ('theme', 'dark')"],
    "messages of a mail program": ["create table sessions (id)", "create table messages (id, content)"],
    "threads of a forum": ["create table threads (id, title)"],
    "nothing": [],
}
OTHER_FILES = {
    "an activity of another service": [{"header": "YouTube", "title": "Watched", "time": "t", "products": ["YouTube"]}],
    "a message of a web service": {"id": "msg_1", "role": "user", "content": []},
    "a session of a web service": {"sessionId": "s", "type": "user"},
    "an event": {"timestamp": "t", "type": "click", "payload": {}},
    "a list of versions": {"messages": ["x"], "versions": []},
    "a schema": {"schema_version": "1.0.0"},
}


def written(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def database(path, statements):
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def name_of(source):
    known = unread_format(source)
    return known.singular if known else None


@pytest.mark.parametrize(
    ("name", "file", "content"), [(name, *file) for name, files in FILES.items() for file in files]
)
def test_a_file_is_named(tmp_path, name, file, content):
    source = Source.at(written(tmp_path, file, content))
    assert winner(match_importers(source), source.label) is None
    assert name_of(source) == name


@pytest.mark.parametrize(("name", "statements"), DATABASES.items())
def test_a_database_is_named_wherever_it_is(tmp_path, name, statements):
    path = database(tmp_path / "some.db", statements)
    with zipfile.ZipFile(tmp_path / "some.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "folder/some.db")
    inside = Source(Source.at(tmp_path / "some.zip").as_zip(), "folder/some.db")
    assert [name_of(Source.at(path)), name_of(inside)] == [name, name]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["some.db", "some.zip"]


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_in_use_is_named_and_left_alone(tmp_path, name):
    path = tmp_path / "used.db"
    with sqlite3.connect(path) as connection:
        connection.execute("pragma journal_mode = wal")
        for statement in DATABASES[name]:
            connection.execute(statement)
        connection.commit()
        connection.execute("pragma wal_checkpoint")
        connection.execute("create table added_later (a)")
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        assert name_of(Source.at(path)) == name
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    connection.close()


@pytest.mark.parametrize("statements", OTHER_DATABASES.values(), ids=OTHER_DATABASES)
def test_another_database_is_not_named(tmp_path, statements):
    path = database(tmp_path / "some.db", ["create table spare (a)", *statements])
    assert name_of(Source.at(path)) is None


@pytest.mark.parametrize("value", OTHER_FILES.values(), ids=OTHER_FILES)
def test_another_file_is_not_named(tmp_path, value):
    assert name_of(Source.at(written(tmp_path, "some.json", json.dumps(value)))) is None


@pytest.mark.parametrize(("name", "statements"), DATABASES.items())
def test_a_damaged_database_is_not_an_error(tmp_path, name, statements):
    whole = database(tmp_path / "some.db", statements).read_bytes()
    for size in (100, 512, 2_000, len(whole) - 1):
        path = written(tmp_path, "cut.db", whole[:size])
        assert name_of(Source.at(path)) in {None, name}
    noise = written(tmp_path, "noise.db", whole[:100] + bytes(range(256)) * 20)
    assert name_of(Source.at(noise)) is None


def test_every_format_is_tried_here():
    assert {known.singular for known in UNREAD_FORMATS} == FILES.keys() | DATABASES.keys()


def test_names_are_unique_and_can_be_looked_up():
    assert len({known.singular for known in UNREAD_FORMATS}) == len(UNREAD_FORMATS)
    for known in UNREAD_FORMATS:
        assert format_named(known.singular) is format_of_reason(known.reason) is known
    assert format_named("PNG picture") is format_named(None) is None


def test_a_platform_with_an_importer_has_no_entry():
    """An importer that comes takes its formats out of the table."""
    titles = {importer(platform).title for platform in platforms()}
    assert not {known.platform for known in UNREAD_FORMATS} & set(platforms())
    assert not {known.product for known in UNREAD_FORMATS} & titles


def test_no_fixture_of_an_importer_is_named():
    named = {}
    for path in sorted(FIXTURES.rglob("source/**/*")):
        if path.is_file() and (name := name_of(Source.at(path))):
            claim = winner(match_importers(Source.at(path)), str(path))
            if claim is None:
                named[str(path.relative_to(FIXTURES))] = name
    assert named == {}


# -- samples -----------------------------------------------------------------------------------------------------------

with_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")
STORES = {
    "aider": "aider",
    "amp": "amp",
    "atif": "atif",
    "codex": "codex",
    "crush": "crush",
    "cursor": "cursor",
    "droid": "droid",
    "gemini": ("gemini_apps", "ai_studio"),
    "gemini_cli": ("gemini_cli", "qwen_code"),
    "goose": "goose",
    "grok": "grok",
    "kiro": "kiro",
    "librechat": ("librechat", "chatbot_ui"),
    "llm": "llm",
    "open_webui": "open_webui",
    "opencode": "opencode",
    "otlp": "otlp",
    "pi": "pi",
    "qwen_code": "qwen_code",
    "zed": "zed",
}
"""The folders of samples, each with the platforms of its files."""
BESIDE = (
    *("facts.json", "make_db.py", "workspace.json", "meta.json", "sessions.json", "sessions-index.json"),
    *(".project_root", "manifest.json", "daemon-events.jsonl", "acp-session-updates.jsonl", "empty.jsonl"),
    *("error-only.jsonl", "p1.json", f"{ID[:8]}.json"),
)
"""Files that hold no conversation themselves."""


def is_beside(path):
    return (
        path.name in BESIDE
        or path.name.startswith("expected-")
        or path.name.endswith((".settings.json", ".db-wal", ".db-shm"))
        or "compatibility" in path.parts
        or ("kiro" in path.parts and path.suffix == ".json")
    )


@with_samples
@pytest.mark.parametrize("store", STORES)
def test_samples_of_a_store_are_named_after_it(store):
    own = STORES[store] if isinstance(STORES[store], tuple) else (STORES[store],)
    if set(own) & set(platforms()):
        pytest.fail(f"{store} has an importer: take it out of STORES")
    files = [path for path in sorted((SAMPLES / store).rglob("*")) if path.is_file()]
    assert files
    for path in files:
        source = Source.at(path)
        assert winner(match_importers(source), source.label) is None, path
        known = unread_format(source)
        if known is None:
            assert is_beside(path), f"{path} has no name"
        else:
            assert known.platform in own, path


@with_samples
def test_samples_of_platforms_with_an_importer_are_not_named():
    foreign = {
        "claude_code/ccusage/fixtures/codex/sessions/project-alpha/session-alpha.jsonl": "Codex CLI session",
        "claude_code/claude-replay/test/e2e/fixture-paced-wording.jsonl": "Cursor agent transcript",
        "claude_code/claude-replay/test/fixture-paced.jsonl": "Cursor agent transcript",
    }
    named = {}
    for folder in sorted(SAMPLES.iterdir()):
        if not folder.is_dir() or folder.name in STORES or folder.name == "claude_cowork":
            continue
        for path in sorted(folder.rglob("*")):
            source = Source.at(path)
            if path.is_file() and (name := name_of(source)) and winner(match_importers(source), source.label) is None:
                named[path.relative_to(SAMPLES).as_posix()] = name
    assert named == foreign
