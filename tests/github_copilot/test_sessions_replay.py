"""Laws of the log of a chat session: what it replays to, against a plain model of what the editor does."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importing import Imported, check, import_folder
from palaver.importers.github_copilot.sessions.session import BadEntryError, Replay

LAW = settings(max_examples=200, deadline=None, derandomize=True, database=None)
SHORT_LAW = settings(max_examples=25, deadline=None, derandomize=True, database=None)

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "tea", "request"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
states = st.dictionaries(st.sampled_from(["a", "b", "requests"]), values, max_size=3)
steps = st.sampled_from(["a", "b", "c", "requests"]) | st.integers(-1, 4)
paths = st.lists(steps, max_size=4)
entries = st.one_of(
    st.builds(lambda path, value: {"kind": 1, "k": path, "v": value}, paths, values),
    st.builds(lambda path: {"kind": 1, "k": path}, paths),
    st.builds(lambda path: {"kind": 3, "k": path}, paths),
    st.builds(lambda path, new: {"kind": 2, "k": path, "v": new}, paths, st.lists(values, max_size=3)),
    st.builds(
        lambda path, new, at: {"kind": 2, "k": path, "v": new, "i": at},
        paths,
        st.lists(values, max_size=3),
        st.integers(-1, 5),
    ),
    st.builds(lambda path, at: {"kind": 2, "k": path, "i": at}, paths, st.integers(0, 3)),
)


class RefusedError(Exception):
    """The model's word for an entry that cannot be applied."""


def changed(value, path, change):
    """The model: a new value with what stands at a path changed, built from the outside in."""
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        key = str(step)
        old = value.get(key)
        if rest and old is None:
            raise RefusedError
        new = changed(old, rest, change) if rest else change(old)
        others = {name: item for name, item in value.items() if name != key}
        return others if new is GONE else {**others, key: new}
    if isinstance(value, list) and isinstance(step, int):
        last = len(value) - 1 + (not rest and change.may_append)
        if not 0 <= step <= last:
            raise RefusedError
        old = value[step] if step < len(value) else None
        if rest and old is None:
            raise RefusedError
        new = changed(old, rest, change) if rest else change(old)
        return [*value[:step], None if new is GONE else new, *value[step + 1 :]]
    raise RefusedError


GONE = object()


class Put:
    may_append = True

    def __init__(self, value):
        self.value = value

    def __call__(self, _old):
        return self.value


class Remove:
    may_append = False

    def __call__(self, _old):
        return GONE


class Append:
    may_append = False

    def __init__(self, new, at):
        self.new, self.at = new, at

    def __call__(self, old):
        old = old or []
        if not isinstance(old, list) or (self.at is not None and not 0 <= self.at <= len(old)):
            raise RefusedError
        return [*(old if self.at is None else old[: self.at]), *self.new]


def modelled(state, entry):
    path = entry["k"]
    if entry["kind"] == 2:
        if not path:
            raise RefusedError
        return changed(state, path, Append(entry.get("v", []), entry.get("i")))
    if not path:
        return state
    return changed(state, path, Put(entry["v"]) if entry["kind"] == 1 and "v" in entry else Remove())


@LAW
@given(states, st.lists(entries, max_size=12))
def test_a_replay_is_what_the_plain_model_gives(state, log):
    replay, expected = Replay(copy.deepcopy(state)), state
    for entry in log:
        try:
            expected = modelled(expected, entry)
        except RefusedError:
            with pytest.raises(BadEntryError):
                replay.apply(copy.deepcopy(entry))
        else:
            replay.apply(copy.deepcopy(entry))
        assert replay.state == expected


@LAW
@given(states, st.lists(entries | values, max_size=8))
def test_a_refused_entry_leaves_the_state_as_it_was(state, log):
    replay = Replay(copy.deepcopy(state))
    for entry in log:
        before = copy.deepcopy(replay.state)
        try:
            replay.apply(entry if isinstance(entry, dict) else {"kind": 1, "k": entry})
        except BadEntryError:
            assert replay.state == before


# -- what the importer makes of a log -------------------------------------------------------------------------------

SESSION = "5e55104e-0000-4000-8000-000000000001"
BEGIN = {"version": 3, "sessionId": SESSION, "creationDate": 1767600000000, "responderUsername": "GitHub Copilot"}


def asked(number: int, text: str) -> dict:
    return {
        "requestId": f"request_{number}",
        "responseId": f"response_{number}",
        "timestamp": 1767600000000 + number,
        "message": {"text": text},
        "response": [],
    }


parts = st.builds(lambda text: {"value": text}, st.text("abc ", min_size=1, max_size=8)) | st.builds(
    lambda text: {"kind": "thinking", "value": text}, st.text("xyz", min_size=1, max_size=5)
)


@st.composite
def logs(draw) -> list[dict]:
    """A log as the editor writes it: requests come, answers grow and are cut back, titles change."""
    log = [{"kind": 0, "v": {**BEGIN, "requests": []}}]
    count = 0
    for _ in range(draw(st.integers(1, 8))):
        match draw(st.sampled_from(["ask", "answer", "rewrite", "title", "state", "resend"])):
            case "ask":
                log.append({"kind": 2, "k": ["requests"], "v": [asked(len(log), draw(st.text("pq ", max_size=6)))]})
                count += 1
            case "resend" if count:
                cut = draw(st.integers(0, count - 1))
                log.append({"kind": 2, "k": ["requests"], "v": [asked(len(log), "again")], "i": cut})
                count = cut + 1
            case "answer" if count:
                at = draw(st.integers(0, count - 1))
                new = draw(st.lists(parts, min_size=1, max_size=3))
                log.append({"kind": 2, "k": ["requests", at, "response"], "v": new})
            case "rewrite" if count:
                at = draw(st.integers(0, count - 1))
                log.append({"kind": 2, "k": ["requests", at, "response"], "v": [draw(parts)], "i": 0})
            case "state" if count:
                at = draw(st.integers(0, count - 1))
                log.append({"kind": 1, "k": ["requests", at, "modelState"], "v": {"value": 1}})
            case _:
                log.append({"kind": 1, "k": ["customTitle"], "v": draw(st.text("tT", max_size=4))})
    return log


def imported_as(folder, name: str, raw: bytes) -> Imported:
    folder.mkdir(parents=True)
    (folder / name).write_bytes(raw)
    imported = import_folder(folder, "github_copilot")
    check(imported)
    return imported


def shown(documents: list[dict]) -> list[dict]:
    """Documents without the messages that only an earlier state of their session had, and their figures."""
    return [
        {
            **{name: item for name, item in document.items() if name not in {"messages", "metrics", "updated_at"}},
            "messages": [one for one in document["messages"] if "kept_from" not in one["metadata"]],
        }
        for document in documents
        if any("kept_from" not in one["metadata"] for one in document["messages"])
    ]


@SHORT_LAW
@given(logs())
def test_every_prefix_of_a_log_gives_what_the_flat_file_of_its_state_gives(tmp_path_factory, log):
    state = None
    folder = tmp_path_factory.mktemp("prefixes")
    for number, entry in enumerate(log):
        state = copy.deepcopy(entry["v"]) if entry["kind"] == 0 else modelled(state, copy.deepcopy(entry))
        raw = b"".join(json.dumps(one).encode() + b"\n" for one in log[: number + 1])
        replayed = imported_as(folder / f"log-{number}", f"{SESSION}.jsonl", raw)
        flat = imported_as(folder / f"flat-{number}", f"{SESSION}.json", json.dumps(state).encode())
        assert shown(replayed.documents) == shown(flat.documents)
        assert replayed.reports[0].ledger.read == number + 1


@SHORT_LAW
@given(logs())
def test_no_request_that_a_log_ever_held_is_lost(tmp_path_factory, log):
    raw = b"".join(json.dumps(one).encode() + b"\n" for one in log)
    imported = imported_as(tmp_path_factory.mktemp("held") / "log", f"{SESSION}.jsonl", raw)
    asked_for = [one["requestId"] for entry in log if entry.get("k") == ["requests"] for one in entry["v"]]
    told = [one["message_id"] for document in imported.documents for one in document["messages"]]
    assert sorted(name for name in told if name.startswith("request_")) == sorted(asked_for)


@SHORT_LAW
@given(logs(), st.data())
def test_a_torn_last_line_keeps_the_state_before_it(tmp_path_factory, log, data):
    lines = [json.dumps(one).encode() + b"\n" for one in log]
    cut = data.draw(st.integers(1, len(lines[-1]) - 2))
    folder = tmp_path_factory.mktemp("torn")
    whole = imported_as(folder / "whole", f"{SESSION}.jsonl", b"".join(lines[:-1]))
    torn = imported_as(folder / "torn", f"{SESSION}.jsonl", b"".join(lines[:-1]) + lines[-1][:cut])
    if len(lines) > 1:
        assert torn.documents == whole.documents
        assert torn.reports[0].findings.counts["unfinished-tail"] == 1
        assert not torn.quarantined
