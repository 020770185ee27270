"""The log of exchanges: its lines, its files, its journal, and what happens on a full disk."""

import errno
import gzip
import io
import json
import math
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import palaver
from palaver.storage import spill
from palaver.storage.spill import ByteSpill
from palaver.streams import exchange_log, journal
from palaver.streams.details import encode_json
from palaver.streams.exchange import Exchange
from palaver.streams.journal import CHUNK, END, FOLDER_NAME, RESPONSE, START, JournalFile, read_frames
from palaver.streams.passing_response import HELD_BYTES
from planted_keys import KEYS

JSON = [("content-type", "application/json")]
SSE = [("content-type", "text/event-stream; charset=utf-8")]
START_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
EVENTS = [
    f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
    for data in (
        {"type": "message_start", "message": {**START_MESSAGE, "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Good morning."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )
]


class Clock:
    """A clock that goes on by a quarter of a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 1_751_914_728.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


def ask(log: palaver.ExchangeLog, body: bytes = b'{"model": "claude-x"}') -> Exchange:
    exchange = log.start("POST", "https://api.anthropic.com/v1/messages?beta=true", JSON, upstream="anthropic")
    exchange.send(body)
    return exchange


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("log-*.jsonl")) for line in path.read_bytes().splitlines()]


def journal_files(folder: Path) -> list[Path]:
    return sorted((folder / FOLDER_NAME).rglob("*.part"))


def test_a_stream_has_the_time_of_every_event(tmp_path: Path) -> None:
    with palaver.ExchangeLog(tmp_path, clock=Clock()) as log:
        exchange = ask(log)
        exchange.respond(200, SSE, http_version="HTTP/2", timestamp=1_751_914_729.0)
        for number, event in enumerate(EVENTS):
            exchange.receive(event, 1_751_914_730.0 + number / 8)
        finished = exchange.finish(1_751_914_731.5)
    (line,) = lines(tmp_path)
    assert line["request"] == {
        "timestamp": 1_751_914_728.25 + 0.25,
        "method": "POST",
        "url": "https://api.anthropic.com/v1/messages?beta=true",
        "headers": {"content-type": "application/json"},
        "body": {"model": "claude-x"},
    }
    response = line["response"]
    details = response["streaming_details"]
    assert (response["status_code"], response["http_version"]) == (200, "HTTP/2")
    assert response["body_raw"] == b"".join(EVENTS).decode()
    assert details["chunk_count"] == len(EVENTS) - 1
    assert details["network_chunks"] == len(EVENTS)
    assert details["total_duration_ms"] == 750
    assert [chunk["chunk_timing_ms"] for chunk in details["chunks"]] == [0, 250, 375, 500, 625, 750]
    assert "issues" not in details
    assert line["duration_ms"] == 3_000
    assert line["request_id"] == finished.request_id
    assert finished.payload["content"] == [{"type": "text", "text": "Good morning."}]
    assert finished.payload["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert finished.requested_model == "claude-x"
    assert finished.place == f"{log.files[0].name}:1"


def test_every_body_is_written_so_that_it_can_be_read_back(tmp_path: Path) -> None:
    bodies: dict[bytes, dict[str, Any]] = {
        b'{"a":\r\n  1.50, "a": [2]}': {"body": {"a": [2]}},
        b"[1, null]": {"body": [1, None]},
        "Gr\u00fc\u00dfe".encode(): {"body_raw": "Gr\u00fc\u00dfe"},
        b'{"cut": ': {"body_raw": '{"cut": '},
        b"[NaN]": {"body_raw": "[NaN]"},
        b"\xff\xfe": {"body_base64": "//4="},
        b'{"a": "\xff"}': {"body_base64": "eyJhIjogIv8ifQ=="},
        b"[" * 100_000: {"body_raw": "[" * 100_000},
        b"": {},
    }
    with palaver.ExchangeLog(tmp_path) as log:
        for body in bodies:
            exchange = ask(log, body)
            exchange.respond(200, [*JSON, ("content-encoding", "gzip")])
            exchange.receive(gzip.compress(body))
            exchange.finish()
        exchange = ask(log)
        exchange.respond(200, [*JSON, ("content-encoding", "shared-brotli")])
        exchange.receive(b"opaque")
        exchange.finish()
    *written, encoded = lines(tmp_path)
    for line, expected in zip(written, bodies.values(), strict=True):
        for part in (line["request"], line["response"]):
            assert {name: value for name, value in part.items() if name.startswith("body")} == expected
    assert encoded["response"]["body_base64"] == "b3BhcXVl"


def test_the_body_of_a_request_is_decoded_and_masked(tmp_path: Path) -> None:
    secrets = {"mcp_servers": [{"authorization_token": "planted-1"}], "messages": "sk-planted_here0"}
    body = json.dumps({"model": "claude-x", **secrets}).encode()
    for redact in (False, True):
        folder = tmp_path / str(redact)
        with palaver.ExchangeLog(folder, redact=redact) as log:
            for coding, encoded in (("gzip", gzip.compress(body)), ("zstd", zstandard.compress(body))):
                exchange = log.start("POST", "https://api.anthropic.com/v1", [*JSON, ("content-encoding", coding)])
                for start in range(0, len(encoded), 9):
                    exchange.send(encoded[start : start + 9])
                exchange.end_request()
                (journaled,) = (path.read_bytes() for path in journal_files(folder))
                assert (b"planted-1" in journaled, b"planted_here0" in journaled) == (False, not redact)
                assert exchange.finish().requested_model == "claude-x"
        for line in lines(folder):
            assert line["request"]["body"]["mcp_servers"] == [{"authorization_token": "[masked]"}]
            assert line["request"]["body"]["messages"] == ("[masked]" if redact else "sk-planted_here0")


def test_a_request_that_cannot_be_decoded_is_not_kept_with_redact(tmp_path: Path) -> None:
    for redact in (False, True):
        with palaver.ExchangeLog(tmp_path / str(redact), redact=redact) as log:
            for coding in ("shared-brotli", "gzip"):
                exchange = log.start("POST", "https://api.example.com/v1", [*JSON, ("content-encoding", coding)])
                exchange.send(b"\xff sk-planted_here0")
                exchange.finish()
    unmasked, damaged = lines(tmp_path / "False")
    assert "body_base64" in unmasked["request"]
    assert damaged["request"]["decoding_error"] == "the body could not be decoded to its end"
    masked, _ = lines(tmp_path / "True")
    assert not [name for name in masked["request"] if name.startswith("body")]


def test_a_killed_recorder_leaves_the_body_of_a_request_decoded(tmp_path: Path) -> None:
    log = palaver.ExchangeLog(tmp_path)
    exchange = log.start("POST", "https://api.example.com/v1", [*JSON, ("content-encoding", "gzip")])
    exchange.send(gzip.compress(b'{"model": "claude-x"}'))
    exchange.end_request()
    (path,) = journal_files(tmp_path)
    content = path.read_bytes()
    exchange.discard()
    path.write_bytes(content)
    log.close()
    with palaver.ExchangeLog(tmp_path) as log:
        assert log.recovered == 1
    assert lines(tmp_path)[0]["request"]["body"] == {"model": "claude-x"}


def test_what_a_killed_recorder_left_unmasked_is_masked_with_redact(tmp_path: Path) -> None:
    key = KEYS["anthropic"].secret
    answer = b'{"text": "your key is %b."}' % key.encode()
    log = palaver.ExchangeLog(tmp_path)
    exchange = ask(log, b'{"model": "claude-x", "text": "my key is %b"}' % key.encode())
    exchange.respond(200, JSON)
    exchange.receive(answer[:30])
    exchange.receive(answer[30:])
    (path,) = journal_files(tmp_path)
    content = path.read_bytes()
    exchange.discard()
    path.write_bytes(content)
    log.close()
    with palaver.ExchangeLog(tmp_path, redact=True) as log:
        assert log.recovered == 1
    (line,) = lines(tmp_path)
    assert line["request"]["body"] == {"model": "claude-x", "text": "my key is [masked]"}
    assert line["response"]["body"] == {"text": "your key is [masked]."}


def test_an_undecodable_rest_is_noted(tmp_path: Path) -> None:
    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, [("content-encoding", "gzip")])
        exchange.receive(gzip.compress(os.urandom(500))[:300] + b"\xff" * 300)
        exchange.receive(b"\xff" * 300)
        exchange.finish()
    assert lines(tmp_path)[0]["response"]["decoding_error"] == "the body could not be decoded to its end"


def test_an_interrupted_exchange_keeps_what_came(tmp_path: Path) -> None:
    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, SSE)
        exchange.receive(EVENTS[0] + EVENTS[2][:20])
        cut = exchange.abort("upstream_aborted", "the upstream broke off")
        unreachable = ask(log).abort("upstream_unreachable", "no route")
    first, second = lines(tmp_path)
    assert first["error"] == {"type": "upstream_aborted", "message": "the upstream broke off"} == cut.error
    assert first["response"]["body_raw"] == (EVENTS[0] + EVENTS[2][:20]).decode()
    assert "aborted" in {issue["type"] for issue in first["response"]["streaming_details"]["issues"]}
    assert second["response"] is None
    assert second["error"]["type"] == "upstream_unreachable"
    assert (unreachable.status, unreachable.payload) == (None, {})


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "log"
    with palaver.ExchangeLog(folder) as log:
        exchange = ask(log)
        exchange.respond(200, JSON)
        modes = [(path, stat.S_IMODE(path.stat().st_mode)) for path in folder.rglob("*")]
        exchange.finish()
        modes += [(path, stat.S_IMODE(path.stat().st_mode)) for path in [folder, *folder.glob("*.jsonl")]]
    assert len(modes) >= 6
    for path, mode in modes:
        assert mode & 0o077 == 0 or path.name == "logs", path


def test_files_are_rotated_by_size_and_by_age(tmp_path: Path) -> None:
    clock = Clock()
    with palaver.ExchangeLog(tmp_path, max_bytes=600, max_age_s=1_000, clock=clock) as log:
        for _ in range(4):
            ask(log).finish()
        clock.now += 2_000
        ask(log).finish()
        ask(log).finish()
    sizes = [len(path.read_bytes().splitlines()) for path in log.files]
    assert sizes == [2, 2, 2]
    assert all(path.name.startswith("log-2025-07-07-") for path in log.files)
    assert sorted(log.files) == log.files


def test_recorders_that_share_a_folder_have_files_of_their_own(tmp_path: Path) -> None:
    clock = Clock()
    with palaver.ExchangeLog(tmp_path, clock=clock) as first, palaver.ExchangeLog(tmp_path, clock=clock) as second:
        assert (first.recovered, second.recovered) == (0, 0)
        for log in (first, second):
            ask(log).finish()
        assert {*first.files}.isdisjoint(second.files)
    assert len(lines(tmp_path)) == 2
    assert not list((tmp_path / FOLDER_NAME).iterdir())


def test_the_journal_has_each_piece_before_the_next_one_comes(tmp_path: Path) -> None:
    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, SSE)
        for number, event in enumerate(EVENTS, 1):
            exchange.receive(event)
            (path,) = journal_files(tmp_path)
            chunks = [frame.payload for frame in read_frames(path) if frame.kind == CHUNK]
            assert chunks == EVENTS[:number]
        exchange.finish()
        assert not journal_files(tmp_path)


def abandon(folder: Path, *, cut: int = 0, ended: bool = False) -> str:
    """Leave an exchange in the journal, as a recorder does that is killed; return its id."""
    log = palaver.ExchangeLog(folder)
    exchange = ask(log)
    exchange.respond(200, SSE)
    for event in EVENTS:
        exchange.receive(event)
    (path,) = journal_files(folder)
    if ended:
        exchange._note(END, 5.0, b"null")
    content = path.read_bytes()
    exchange.discard()
    path.write_bytes(content[: len(content) - cut])
    log.close()
    return exchange.request_id


def test_a_killed_recorder_loses_nothing_that_had_arrived(tmp_path: Path) -> None:
    for cut in range(0, 60, 7):
        folder = tmp_path / str(cut)
        request_id = abandon(folder, cut=cut)
        with palaver.ExchangeLog(folder) as log:
            assert (log.recovered, log.problems) == (1, [])
        (line,) = lines(folder)
        whole = b"".join(EVENTS)
        torn = len(EVENTS[-1]) - min(cut, len(EVENTS[-1]))
        expected = whole[: len(whole) - len(EVENTS[-1]) + torn]
        assert line["response"]["body_raw"].encode() == expected
        assert line["request"]["body"] == {"model": "claude-x"}
        assert line["request_id"] == request_id
        assert line["error"]["type"] == "recovered"
        assert not list((folder / FOLDER_NAME).iterdir())


def test_an_exchange_that_had_ended_is_recovered_as_complete(tmp_path: Path) -> None:
    abandon(tmp_path, ended=True)
    with palaver.ExchangeLog(tmp_path) as log:
        assert log.recovered == 1
    (line,) = lines(tmp_path)
    assert "error" not in line


def test_an_exchange_is_not_recovered_twice(tmp_path: Path) -> None:
    request_id = abandon(tmp_path)
    (owner,) = (path for path in (tmp_path / FOLDER_NAME).iterdir() if path.is_dir())
    (tmp_path / "log-2025-01-01-00-00-00.jsonl").write_text(f'{{"request_id":"{request_id}"}}\n{{"request": {{"meth')
    (owner / "logs").write_text("log-2025-01-01-00-00-00.jsonl\n")
    with palaver.ExchangeLog(tmp_path) as log:
        assert log.recovered == 0
    assert [line["request_id"] for line in lines(tmp_path)] == [request_id], "the torn line is gone"


def test_a_journal_that_cannot_be_read_stays(tmp_path: Path) -> None:
    abandon(tmp_path)
    (path,) = journal_files(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"upstream"', b'"Upstream"'))
    for _ in range(2):
        with palaver.ExchangeLog(tmp_path) as log:
            assert log.recovered == 0
            assert "could not be recovered" in log.problems[0]
    assert journal_files(tmp_path) == [path]


def owner_folder(folder: Path) -> Path:
    (owner,) = (path for path in (folder / FOLDER_NAME).iterdir() if path.is_dir())
    return owner


def test_a_recovery_that_is_killed_after_a_line_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal is still there, and only the log of the killed recovery has the exchange."""
    folder, left = tmp_path / "log", tmp_path / "left"
    request_id = abandon(folder)
    unlink, rmtree = Path.unlink, shutil.rmtree

    def copy_first(remove: Callable[..., None]) -> Callable[..., None]:
        def remove_later(*arguments: Any, **options: Any) -> None:
            if not left.exists():
                shutil.copytree(folder, left)
            remove(*arguments, **options)

        return remove_later

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", copy_first(unlink))
        patched.setattr(shutil, "rmtree", copy_first(rmtree))
        palaver.ExchangeLog(folder).close()
    assert journal_files(left)
    with palaver.ExchangeLog(left) as log:
        assert (log.recovered, log.problems) == (0, [])
    assert [line["request_id"] for line in lines(left)] == [request_id]
    assert not list((left / FOLDER_NAME).iterdir())


def test_a_recovery_that_is_killed_in_mid_line_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The torn line has the id already: it must go before the logs are searched."""
    folder, left = tmp_path / "log", tmp_path / "left"
    request_id = abandon(folder)

    def copy_in_mid_line(descriptor: int, whole: bytes) -> None:
        os.write(descriptor, whole[:-1])
        shutil.copytree(folder, left)
        os.write(descriptor, whole[-1:])

    with monkeypatch.context() as patched:
        patched.setattr(exchange_log, "write_all", copy_in_mid_line)
        palaver.ExchangeLog(folder).close()
    with palaver.ExchangeLog(left) as log:
        assert (log.recovered, log.problems) == (1, [])
    assert [line["request_id"] for line in lines(left)] == [request_id]


def test_a_damaged_file_of_the_journal_harms_no_other_one(tmp_path: Path) -> None:
    request_id = abandon(tmp_path)
    owner = owner_folder(tmp_path)
    head = encode_json({"request_id": "req_1", "timestamp": "noon", "method": 1, "url": None, "headers": []})
    damaged = {"list": b"[]", "text": b"not JSON", "fields": b"{}", "types": head}
    for number, (name, payload) in enumerate(damaged.items()):
        file = JournalFile(owner / f"{number}-{name}.part")
        file.write(START, 1.0, payload)
        file.write(RESPONSE, 1.0, b"[]")
        file.write(CHUNK, math.nan, b"data: {}\n\n")
        file.close()
    for recovered in (1, 0):
        with palaver.ExchangeLog(tmp_path) as log:
            assert (log.recovered, len(log.problems)) == (recovered, len(damaged))
        assert [line["request_id"] for line in lines(tmp_path)] == [request_id]
        assert {path.name.partition("-")[2] for path in journal_files(tmp_path)} == {f"{name}.part" for name in damaged}


def test_rubbish_in_the_journal_does_not_stop_a_recorder(tmp_path: Path) -> None:
    abandon(tmp_path)
    owner = owner_folder(tmp_path)
    (owner / "logs").write_bytes(b"\xff\x00\n../outside\nlog-2025-01-01-00-00-00.jsonl\n")
    (owner / "random.part").write_bytes(os.urandom(3_000))
    (owner / "huge.part").write_bytes(b"\x01" + bytes(8) + b"\xff" * 40)
    (owner / "empty.part").touch()
    (owner / "folder.part").mkdir()
    (tmp_path / "log-2025-01-01-00-00-00.jsonl").mkdir()
    (owner.parent / "stray").touch()
    (owner.parent / "other").mkdir()
    (owner.parent / "other" / "logs").mkdir()
    (owner.parent / "locked").mkdir()
    (owner.parent / "locked.lock").mkdir()
    (tmp_path.parent / "outside").write_text("left alone")
    with palaver.ExchangeLog(tmp_path) as log:
        assert log.recovered == 1
        assert [problem.partition(" could not be recovered: ")[0] for problem in log.problems] == [
            str(owner.parent / "locked")
        ]
    assert not owner.exists()
    assert (tmp_path.parent / "outside").read_text() == "left alone"


def test_a_log_that_is_deleted_meanwhile_is_begun_anew(tmp_path: Path) -> None:
    with palaver.ExchangeLog(tmp_path) as log:
        ask(log).finish()
        (deleted,) = log.files
        deleted.unlink()
        finished = ask(log).finish()
        assert finished.place is not None
        assert [path.name for path in log.files] == [finished.place.partition(":")[0]]
    assert [line["request_id"] for line in lines(tmp_path)] == [finished.request_id]


def test_a_folder_that_is_removed_meanwhile_does_not_stop_the_traffic(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with palaver.ExchangeLog(folder) as log:
        exchange = ask(log)
        exchange.respond(200, SSE)
        shutil.rmtree(folder)
        exchange.receive(EVENTS[0])
        assert "No such file" in exchange.finish().unwritten


def test_a_file_that_cannot_follow_a_full_one_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with palaver.ExchangeLog(folder, max_bytes=1) as log:
        ask(log).finish()
        folder.rename(tmp_path / "moved")
        for _ in range(2):
            assert "No such file" in ask(log).finish().unwritten
        (tmp_path / "moved").rename(folder)
        assert ask(log).finish().place is not None
    assert len(lines(folder)) == 2


def test_a_journal_that_is_removed_meanwhile_does_not_stop_the_recording(tmp_path: Path) -> None:
    with palaver.ExchangeLog(tmp_path) as log:
        shutil.rmtree(tmp_path / FOLDER_NAME)
        assert ask(log).finish().place is not None


def test_a_journal_that_becomes_read_only_does_not_stop_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, SSE)
        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", refuse)
            assert exchange.finish().place is not None


def test_an_exchange_that_could_not_be_held_is_not_recovered_as_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, JSON)
        exchange.receive(b'{"a": ')
        with monkeypatch.context() as patched:
            patched.setattr(ByteSpill, "write", refuse)
            exchange.receive(b"1")
        exchange.receive(b"}")
        assert "No space left" in exchange.finish().unwritten
    with palaver.ExchangeLog(tmp_path) as log:
        assert log.recovered == 1
    assert lines(tmp_path)[0]["error"]["type"] == "recovered"


def test_a_full_disk_does_not_stop_the_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, SSE)
        exchange.receive(EVENTS[0])
        with monkeypatch.context() as patched:
            patched.setattr(exchange_log, "write_all", refuse)
            finished = exchange.finish()
        assert finished.place is None
        assert "No space left" in finished.unwritten
        assert [path.stat().st_size for path in log.files] == [0]
    with palaver.ExchangeLog(tmp_path) as log:
        assert log.recovered == 1, "its journal was kept for the next start"


def test_a_full_disk_for_temporary_files_does_not_stop_the_traffic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullFile(io.BytesIO):
        """A file whose buffer takes what the disk then has no room for."""

        def close(self) -> None:
            super().close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        flush = close

    monkeypatch.setattr(spill, "_temporary_file", lambda _: FullFile())
    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, JSON)
        exchange.receive(bytes(HELD_BYTES + 1))
        assert "No space left" in exchange.finish().unwritten


def test_a_journal_that_cannot_be_written_does_not_stop_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        exchange.respond(200, SSE)
        with monkeypatch.context() as patched:
            patched.setattr(journal, "write_all", refuse)
            exchange.receive(EVENTS[0])
        exchange.receive(EVENTS[2])
        assert exchange.finish().place is not None
    assert lines(tmp_path)[0]["response"]["body_raw"] == (EVENTS[0] + EVENTS[2]).decode()


def test_long_payloads_take_several_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_MAX_FRAME_BYTES", 10)
    file = JournalFile(tmp_path / "x.part")
    file.write(CHUNK, 1.0, b"0123456789abcdefghij+")
    file.close()
    assert [frame.payload for frame in read_frames(tmp_path / "x.part")] == [b"0123456789", b"abcdefghij", b"+"]


def test_misuse_is_refused(tmp_path: Path) -> None:
    with palaver.ExchangeLog(tmp_path) as log:
        exchange = ask(log)
        with pytest.raises(ValueError, match="call `respond`"):
            exchange.receive(b"x")
        exchange.respond(200, JSON)
        with pytest.raises(ValueError, match="the request has ended"):
            exchange.send(b"x")
        exchange.finish()
        with pytest.raises(ValueError, match="start another one"):
            exchange.finish()
