"""Messages that are spread over rows: any cut, any order, any copies give the same messages."""

import json

from hypothesis import given
from hypothesis import strategies as st

from azure_logs import ANSWER, QUESTION, Log, answered, asked, gateway, logged

MESSAGES = [QUESTION, ANSWER, {"role": "user", "content": 'Größe? [not] {really} \\ "quoted"'}]


@st.composite
def spread(draw):
    """Rows with the parts of both sides, in any order, some of them twice."""
    request = draw(st.sampled_from([json.dumps(MESSAGES), json.dumps(MESSAGES, ensure_ascii=False)]))
    response = json.dumps([ANSWER])
    rows = [logged("c-1", 0, PromptTokens=3, CompletionTokens=4, TotalTokens=7)]
    for side, text in (("RequestMessages", request), ("ResponseMessages", response)):
        cuts = sorted(draw(st.sets(st.integers(1, len(text) - 1), max_size=5)))
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            rows.append(logged("c-1", len(rows), **{side: text[start:end]}))
    copies = draw(st.lists(st.sampled_from(rows), max_size=3))
    return draw(st.permutations([*rows, *copies])), len(copies)


@given(spread())
def test_any_cut_in_any_order_gives_the_same_messages(tmp_path_factory, rows):
    rows, copies = rows
    log = Log(tmp_path_factory.mktemp("log") / "log.jsonl", rows)
    assert log.call.request == {"messages": MESSAGES}
    assert log.call.response == {"choices": [{"index": 0, "message": ANSWER}]}
    assert log.call.usage == {"input_tokens": 3, "output_tokens": 4}
    assert not log.call.is_request_cut
    assert not log.call.is_answer_cut
    assert not log.codes
    assert log.run.ledger.folded["the same row"] == copies


def test_a_missing_part_is_told_and_the_call_is_cut(tmp_path):
    text = json.dumps(MESSAGES)
    rows = [logged("c-1", 1, RequestMessages=text[:50]), logged("c-1", 3, RequestMessages=text[100:])]
    log = Log(tmp_path / "log.jsonl", [*rows, logged("c-1", 4, ResponseMessages=[ANSWER])])
    assert log.call.is_request_cut
    assert not log.call.is_answer_cut
    assert [finding.message for finding in log.run.findings.first if finding.code == "missing-chunk"] == ["row 2"]


def test_a_missing_row_between_whole_ones_is_told_as_well(tmp_path):
    rows = [logged("c-1", 1, RequestMessages=[QUESTION]), logged("c-1", 3, RequestMessages=[QUESTION])]
    log = Log(tmp_path / "log.jsonl", [*rows, logged("c-1", 4, ResponseMessages=[ANSWER])])
    assert log.call.is_request_cut
    assert "missing-chunk" in log.codes


def test_a_part_whose_beginning_is_nowhere_is_set_aside(tmp_path):
    log = Log(tmp_path / "log.jsonl", [logged("c-1", 2, RequestMessages='ords of somebody", "role": "user"}]')])
    assert not log.calls
    assert [entry.code for entry in log.quarantined] == ["bad-conversation"]


def test_a_number_that_makes_no_sense_has_no_millions_miss(tmp_path):
    rows = [logged("c-1", 10**12, RequestMessages=[QUESTION]), logged("c-1", None, ResponseMessages=[ANSWER])]
    assert Log(tmp_path / "log.jsonl", rows).call.request == {"messages": [QUESTION]}


def test_the_log_for_language_models_fills_what_the_gateway_cut(tmp_path):
    body = json.dumps({"temperature": 0.3, **asked(*MESSAGES)})
    row = logged("c-1", 1, RequestMessages=MESSAGES)
    log = Log(tmp_path / "log.jsonl", [gateway("c-1", body[:120], answered()), row])
    assert log.call.request == {"temperature": 0.3, "messages": MESSAGES}
    assert not log.call.is_request_cut
    assert "request_body" not in log.call.answer


def test_two_logs_that_disagree_are_both_kept(tmp_path):
    other = {"role": "user", "content": "Something quite different."}
    log = Log(tmp_path / "log.jsonl", [gateway("c-1", asked(), answered()), logged("c-1", 1, RequestMessages=[other])])
    assert log.call.request == asked()
    assert log.call.answer["llm_request_messages"] == {"messages": [other]}
