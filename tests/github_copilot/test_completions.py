"""Telemetry of completions: what belongs together, in what order it may come, what is never kept."""

import itertools
import json
import random

import pytest

from importing import check, import_folder
from palaver.importers.github_copilot.completions import threads
from palaver.importers.github_copilot.completions.reader import conversations
from palaver.importers.github_copilot.raw_records import is_private_field, mask_record
from palaver.model.report import SourceReport
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines

MARK = "REDACTED-BY-FIXTURE"


def event(kind, seconds, request="r1", /, **properties):
    measurements = {name: properties.pop(name) for name in list(properties) if type(properties[name]) in (int, float)}
    time = f"2026-02-03T10:{seconds // 60:02}:{seconds % 60:02}.000Z"
    return {
        "name": kind,
        "timestamp": time,
        "properties": {"headerRequestId": request, **properties},
        "measurements": measurements,
    }


def completion(request, seconds, **properties):
    return event("ghostText.produced", seconds, request, completionText=f"answer = of({request!r})", **properties)


def lines(events):
    return "".join(json.dumps(one) + "\n" for one in events)


def read(folder, events, name="telemetry.jsonl", **options):
    file = folder / name
    file.write_text(events if isinstance(events, str) else lines(events), "utf-8")
    (unit,), _ = find_units([file])
    report = SourceReport(unit.source.label, unit.platform)
    used = []
    found = [json.loads(line) for line in document_lines(unit, report, options, used=used.append)]
    assert not report.failure, report.failure
    return found, used, report


def texts(found):
    return [message["content"][0]["code"] for document in found for message in document["messages"]]


# -- what belongs together ------------------------------------------------------------------------------------------


def test_the_order_of_events_does_not_matter(tmp_path):
    events = [
        event("ghostText.issued", 0, engineName="gpt-x", promptCharLen=4),
        completion("r1", 1),
        event("ghostText.shown", 2, reason="network"),
        event("ghostText.accepted", 4),
        event("ghostText.stillInCode", 20, timeout=15, stillInCodeHeuristic=1),
    ]
    wanted, _, _ = read(tmp_path, events)
    assert wanted[0]["platform"]["model"] == "gpt-x"
    for mixed in itertools.islice(itertools.permutations(events), 0, None, 7):
        assert read(tmp_path, mixed)[0] == wanted


def test_events_that_name_the_completion_alone_join_its_request(tmp_path):
    bare = {
        "name": "ghostText.accepted",
        "timestamp": "2026-02-03T10:00:05Z",
        "properties": {"clientCompletionId": "c"},
    }
    for events in (
        [bare, completion("r1", 1, clientCompletionId="c")],
        [completion("r1", 1, clientCompletionId="c"), bare],
    ):
        (document,), used, report = read(tmp_path, events)
        assert document["messages"][0]["metadata"]["accepted"] is True
        assert not used
        assert report.ledger.folded == {"its completion": 1}


@pytest.mark.parametrize(
    ("last", "outcome", "accepted"),
    [
        ("accepted", "accepted", True),
        ("rejected", "rejected", False),
        ("dismissed", "dismissed", False),
        ("canceled", "shown", None),
    ],
)
def test_what_became_of_a_completion(tmp_path, last, outcome, accepted):
    (document,), _, _ = read(
        tmp_path, [completion("r1", 1), event("ghostText.shown", 2), event(f"ghostText.{last}", 3)]
    )
    metadata = document["messages"][0]["metadata"]
    assert (metadata["outcome"], metadata.get("accepted")) == (outcome, accepted)


def test_suggestions_of_one_request_have_one_prompt_and_each_its_own_events(tmp_path):
    (document,), _, _ = read(
        tmp_path,
        [
            event("engine.prompt", 0, promptJson=json.dumps({"prefix": "let x = "}), languageId="rust"),
            event("engine.completion", 1, choiceIndex="1", completionTextJson=json.dumps("two();")),
            event("engine.completion", 1, choiceIndex="0", completionTextJson=json.dumps("one();")),
            event("ghostText.shown", 2, choiceIndex="1", clientCompletionId="b"),
            event("ghostText.accepted", 3, clientCompletionId="b"),
        ],
    )
    prompt, first, second = document["messages"]
    assert prompt["metadata"]["author_kind"] == "harness"
    assert {first["parent_message_id"], second["parent_message_id"]} == {prompt["message_id"]}
    assert [(one["content"][0]["code"], one["metadata"]["completion_index"]) for one in (first, second)] == [
        ("one();", 0),
        ("two();", 1),
    ]
    assert "accepted" not in first["metadata"]
    assert second["metadata"]["accepted"] is True


def test_what_became_of_one_suggestion_is_said_of_no_other(tmp_path):
    (document,), _, _ = read(
        tmp_path,
        [
            completion("r1", 1, choiceIndex="0"),
            event("ghostText.rejected", 2, choiceIndex="0"),
            event("ghostText.accepted", 3, choiceIndex="1"),
        ],
    )
    assert document["messages"][0]["metadata"]["accepted"] is False
    (document,), _, _ = read(
        tmp_path,
        [*(completion("r1", 1, choiceIndex=str(number)) for number in range(2)), event("ghostText.accepted", 3)],
    )
    assert [one["metadata"].get("accepted") for one in document["messages"]] == [None, None]
    assert "ghostText.accepted" in json.dumps(document)


def test_a_suggestion_has_the_same_id_when_another_becomes_known(tmp_path):
    events = [
        completion("r1", 1, choiceIndex="0"),
        event("ghostText.shown", 2, choiceIndex="0", clientCompletionId="a"),
        completion("r1", 3, choiceIndex="1"),
    ]
    ids = []
    for number in range(1, 4):
        (document,), _, _ = read(tmp_path, events[:number])
        ids.append([message["message_id"] for message in document["messages"]])
    assert ids[0] == ids[1] == ids[2][:1]
    assert len(set(ids[2])) == 2


def test_an_event_joins_its_request_by_any_of_its_names(tmp_path):
    names = {"clientCompletionId": "c", "opportunityId": "o"}
    bare = {"name": "ghostText.accepted", "timestamp": "2026-02-03T10:00:05Z", "properties": names}
    for events in ([bare, completion("r1", 1, opportunityId="o")], [completion("r1", 1, opportunityId="o"), bare]):
        (document,), used, _ = read(tmp_path, events)
        assert document["messages"][0]["metadata"]["accepted"] is True
        assert not used


def test_a_whole_completion_may_have_a_name_of_its_own(tmp_path):
    flat = {"file": "a.py", "completion": "x = 1", "promptContext": "x", "accepted": True, "extensionVersion": "1.2"}
    (document,), _, report = read(tmp_path, [flat, {**flat, "name": "inline", "completion": "x = 2"}])
    assert texts([document]) == ["x", "x = 1", "x = 2"]
    assert not report.ledger.skipped


def test_without_times_requests_of_two_windows_are_two_conversations(tmp_path):
    events = [completion(f"r{number}", 0, file="a.py", client_sessionid=str(number)) for number in range(2)]
    found, _, _ = read(tmp_path, [{key: one[key] for key in ("name", "properties")} for one in events])
    assert len({document["conversation_id"] for document in found}) == len(found) == 2


# -- threads --------------------------------------------------------------------------------------------------------


def test_the_window_is_an_option(tmp_path):
    events = [completion(f"r{minute}", minute * 60, file="a.py") for minute in range(4)]
    assert [len(document["messages"]) for document in read(tmp_path, events)[0]] == [4]
    assert [len(document["messages"]) for document in read(tmp_path, events, window="60")[0]] == [4]
    assert [len(document["messages"]) for document in read(tmp_path, events, window="59")[0]] == [1, 1, 1, 1]


def test_files_and_windows_of_the_editor_are_kept_apart(tmp_path):
    found, _, _ = read(
        tmp_path,
        [
            completion("r1", 0, file="a.py"),
            completion("r2", 1, file="b.py"),
            completion("r3", 2, file="a.py", client_sessionid="another window"),
            completion("r4", 3, file="a.py"),
        ],
    )
    assert sorted(len(document["messages"]) for document in found) == [1, 1, 2]
    assert "another window" not in json.dumps(found)


def test_a_message_says_which_model_it_is_from_where_they_differ(tmp_path):
    (document,), _, _ = read(tmp_path, [completion("r1", 0, engineName="one"), completion("r2", 1, engineName="two")])
    first, second = document["messages"]
    assert document["platform"]["model"] == "one"
    assert "model_override" not in first["metadata"]
    assert second["metadata"]["model_override"] == "two"


def test_what_does_not_fit_into_memory_gives_the_same(tmp_path):
    many = random.Random(7)
    events = [
        one
        for number in range(120)
        for one in (
            completion(f"r{number}", number * 25, file=f"{many.randrange(5)}.py"),
            event("ghostText.accepted", number * 25 + 1, f"r{number}"),
        )
    ]
    many.shuffle(events)
    (tmp_path / "telemetry.jsonl").write_text(lines(events), "utf-8")
    source = Source.at(tmp_path / "telemetry.jsonl")
    small, large = (
        sorted(
            conversations(source, Run("x", form="completions:lines"), limit_bytes=limit_bytes),
            key=lambda document: document["conversation_id"],
        )
        for limit_bytes in (1 << 14, 1 << 30)
    )
    assert small == large
    assert sum(len(document["messages"]) for document in large) == 120


def test_a_long_thread_comes_in_fragments_that_say_the_same(tmp_path, monkeypatch):
    events = [
        completion(f"r{number}", number * 25, engineName=f"engine {number % 2}", **({"os": "Linux"} if number else {}))
        for number in range(9)
    ]
    (whole,), _, _ = read(tmp_path, events)
    assert "fragment" not in whole
    monkeypatch.setattr(threads, "FRAGMENT_BYTES", 8_000)
    monkeypatch.setattr(threads, "LATER_FRAGMENT_BYTES", 4_000)
    fragments, _, report = read(tmp_path, events)
    assert [one["fragment"]["sequence"] for one in fragments] == list(range(len(fragments)))
    assert [one["fragment"]["final"] for one in fragments] == [False] * (len(fragments) - 1) + [True]
    assert len(fragments[0]["messages"]) > len(fragments[1]["messages"])
    assert [message for one in fragments for message in one["messages"]] == whole["messages"]
    last = fragments[-1]
    told = ("conversation_id", "platform", "context", "created_at", "updated_at")
    assert {name: last[name] for name in told} == {name: whole[name] for name in told}
    assert (report.conversations, report.messages, report.ledger.mapped) == (1, 9, 9)


# -- without words --------------------------------------------------------------------------------------------------


def test_without_words_there_is_a_usage_record_and_no_message(tmp_path):
    found, (record,), _ = read(
        tmp_path, [event("ghostText.issued", 0, engineName="gpt-x"), event("ghostText.failed", 2, reason="status 500")]
    )
    assert not found
    assert (record["kind"], record["request_id"], record["model"]) == ("request", "r1", "gpt-x")
    assert record["counts"] == {"ghostText.issued": 1, "ghostText.failed": 1}
    assert record["metadata"]["outcome"] == "failed"


def test_a_prompt_without_a_completion_is_kept(tmp_path):
    (document,), used, _ = read(
        tmp_path, [event("engine.prompt", 0, promptJson=json.dumps({"prefix": "x = "})), event("ghostText.empty", 1)]
    )
    assert texts([document]) == ["x = "]
    assert document["messages"][0]["metadata"]["outcome"] == "empty"
    assert not used


# -- envelopes ------------------------------------------------------------------------------------------------------


def wrapped(one):
    base = {"ver": 2, "name": f"copilot/{one['name']}", **{key: one[key] for key in ("properties", "measurements")}}
    return {
        "name": "Microsoft.ApplicationInsights.Event",
        "time": one["timestamp"],
        "iKey": MARK,
        "tags": {"ai.user.id": MARK},
        "data": {"baseType": "EventData", "baseData": base},
    }


@pytest.mark.parametrize(
    "write",
    [
        json.dumps,
        lambda events: json.dumps(events, indent=2),
        lambda events: json.dumps({"events": events}),
        lambda events: json.dumps({"from": "a proxy", "events": events}, indent=1),
        lambda events: lines([{"events": events[:1]}, {"events": events[1:]}]),
        lambda events: lines([events[:1], events[1:]]),
        lambda events: lines(map(wrapped, events)),
        lambda events: json.dumps(list(map(wrapped, events))),
        lambda events: lines(
            {
                "timestamp": one["timestamp"],
                "name": one["name"],
                "customDimensions": json.dumps(one["properties"]),
                "customMeasurements": one["measurements"],
            }
            for one in events
        ),
    ],
)
def test_every_envelope_holds_the_same(tmp_path, write):
    events = [completion("r1", 0, compCharLen=3), event("ghostText.accepted", 1)]
    wanted, _, _ = read(tmp_path, events)
    found, _, report = read(tmp_path, write(events), "events.json")
    assert found == wanted
    assert (report.ledger.read, report.ledger.mapped, report.ledger.folded) == (2, 1, {"its completion": 1})


def test_texts_that_were_spread_over_properties_are_whole(tmp_path):
    prompt = json.dumps({"prefix": "a" * 9000 + "é" * 9000}, ensure_ascii=False)
    parts = {"promptJson": prompt[:8192], "promptJson_02": prompt[8192:16384], "promptJson_03": prompt[16384:]}
    (document,), _, _ = read(tmp_path, [event("engine.prompt", 0, **parts), completion("r1", 1)])
    assert texts([document])[0] == "a" * 9000 + "é" * 9000
    assert "promptJson" not in json.dumps(document)


# -- what is never kept ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("copilot_trackingId", "organizations_list", "enterprise_list", "client_machineid", "client_sessionid"),
        *("common_vscodemachineid", "common.devDeviceId", "unique_id", "ai.user.id", "iKey", "githubToken"),
        *("ai.location.ip", "client_IP", "user_AuthenticatedId", "contact_email"),
    ],
)
def test_ids_of_persons_and_machines_are_never_kept(tmp_path, name):
    found, _, _ = read(tmp_path, [completion("r1", 0, **{name: MARK})])
    assert is_private_field(name)
    assert MARK not in json.dumps(found)
    assert MARK not in mask_record(json.dumps({"properties": {name: MARK, "reason": "kept"}})[:-3])


def test_what_stands_in_lists_is_no_less_secret(tmp_path):
    found, _, _ = read(tmp_path, [completion("r1", 0, accounts=[{"githubToken": MARK, "plan": "kept"}])])
    assert MARK not in json.dumps(found)
    assert "kept" in json.dumps(found)


def test_what_is_no_secret_is_kept_under_its_own_name(tmp_path):
    (document,), _, _ = read(tmp_path, [completion("r1", 0, reason="network", promptTokens=7)])
    (entry,) = document["messages"][0]["metadata"]["events"]
    assert (entry["reason"], entry["promptTokens"]) == ("network", 7)


def test_what_is_set_aside_is_masked(tmp_path):
    imported = import_bytes(tmp_path, lines([completion("r1", 0), {"copilot_trackingId": MARK, "is": "no event"}]))
    (aside,) = imported.quarantined
    assert b"no event" in aside.raw
    assert MARK.encode() not in aside.raw


def import_bytes(folder, text):
    (folder / "telemetry.jsonl").write_text(text, "utf-8")
    imported = import_folder(folder)
    check(imported)
    return imported


# -- recognition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"name": "ghostwriter", "properties": {}},
        {"completion": "text of a dataset", "prompt": "text"},
        {"completion": "x", "accepted": True},
        {"type": "assistant", "message": {"content": "ghostText.shown is an event"}},
        {"events": [{"name": "click", "properties": {"what": "ghostText.shown"}}]},
    ],
)
def test_files_of_others_are_not_claimed(tmp_path, record):
    (tmp_path / "x.jsonl").write_text(lines([record]), "utf-8")
    assert not import_folder(tmp_path, "github_copilot").units


def test_what_is_nested_beyond_reason_is_set_aside(tmp_path):
    deep = json.dumps(completion("r2", 1)).replace('"measurements"', f'"x": {"[" * 300}{"]" * 300}, "measurements"')
    imported = import_bytes(tmp_path, lines([completion("r1", 0)]) + deep + "\n" + deep + "\n")
    assert [one.code for one in imported.quarantined] == ["too-deep", "too-deep"]
    assert texts(imported.documents) == ["answer = of('r1')"]
