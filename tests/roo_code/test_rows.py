"""Rows of the interface beside a history: none vanishes because something else looks alike, and none is lost."""

import pytest

from palaver.importers._cline_family import history_search
from palaver.importers._cline_family.history_search import HistoryText
from palaver.importers._cline_family.task import PendingCalls
from task_folders import TASK, answer, ask, blocks, by_author, call, request, result, say, spoken, surroundings, user

FIRST = user(1, "<task>\nSort the books by their colours.\n</task>", surroundings())
ANSWER = answer(5, "Yes.", call("read_file", path="books.md"))
ASKED = request(2, tokensIn=1, tokensOut=1)


def test_a_command_of_short_lines_is_not_known_because_it_has_no_long_ones(tasks):
    command = "cd shelves\nsort books\nls --all\nmake colours\ntest"
    document = tasks.read([FIRST, ANSWER], [ASKED, ask(4, "command", command)])
    assert blocks(document, "tool_use")[0]["metadata"] == {"ui": [{"command": command}]}


def test_what_a_person_says_is_not_known_because_the_model_said_it(tasks):
    document = tasks.read([FIRST, ANSWER], [ASKED, say(3, "text", "Yes."), say(6, "user_feedback", "Yes.")])
    assert spoken(document)[-1] == ("user", "human", "Yes.")
    assert len(by_author(document, "model")) == 1


def test_what_a_model_says_is_not_known_because_a_person_said_it(tasks):
    rows = [request(2, cancelReason="streaming_failed"), say(3, "text", "their colours"), request(4, tokensIn=1)]
    document = tasks.read([FIRST, ANSWER], rows)
    assert ("assistant", "model", "their colours") in spoken(document)


@pytest.mark.parametrize("text", ["book", "the books by"])
def test_a_short_row_of_another_tool_is_not_known_because_a_text_holds_it(text, tasks):
    document = tasks.read([FIRST, ANSWER], [{"type": "user", "content": text}])
    assert ("user", "human", text) in spoken(document)


@pytest.mark.parametrize("text", ["Sort the books by their colours.", "Yes."])
def test_a_row_of_another_tool_that_the_history_has_is_told_once(text, tasks):
    document = tasks.read([FIRST, ANSWER], [{"type": "user", "content": text}])
    assert tasks.imported.reports[0].ledger.folded == {"message": 1}
    assert len(document["messages"]) == 3


def test_an_error_in_short_json_is_told(tasks):
    document = tasks.read([FIRST, ANSWER], [ASKED, say(3, "error", {"code": 429, "message": "slow down"})])
    assert blocks(document, "opaque")[0]["raw"] == {"code": 429, "message": "slow down"}


def test_what_agents_used_is_counted(tasks):
    used = {"source": "subagents", "tokensIn": 70, "tokensOut": 8, "cacheWrites": 0, "cacheReads": 0, "cost": 0.5}
    said = [FIRST, {**ANSWER, "modelInfo": {"modelId": "m"}}]
    document = tasks.read(said, [ASKED, say(3, "subagent_usage", used)], "cline")
    message = by_author(document, "harness")[-1]
    assert (message["tokens"]["input_tokens"], message["cost"]["amount"]) == (70, 0.5)


def test_fields_of_a_row_that_goes_on_with_another_stay(tasks):
    rows = [ASKED, say(3, "text", "First."), say(4, "text", "Second.", media={"name": "colours"})]
    document = tasks.read(rows=rows)
    first, second = by_author(document, "model")
    assert (first["content"], second["metadata"]["media"]) == (
        [{"type": "text", "text": "First."}],
        {"name": "colours"},
    )


def test_fields_of_a_row_whose_words_are_known_stay_where_they_say_something(tasks):
    files = ["/home/reader/a/folder/with/a/long/name/books.md"]
    rows = [ASKED, say(3, "text", "Yes.", files=files)]
    document = tasks.read([FIRST, ANSWER], rows)
    assert [message["metadata"].get("files") for message in by_author(document, "model")] == [None, files]


def test_the_reasoning_and_the_images_of_a_call_stay(tasks):
    thought = "The red ones are the most, so they come first of all."
    picture = "data:image/png;base64,iVBORw0KGgo="
    rows = [ASKED, ask(3, "tool", {"tool": "readFile"}, reasoning=thought), ask(4, "tool", "{}", images=[picture])]
    document = tasks.read([FIRST, ANSWER], rows)
    assert blocks(document, "tool_use")[0]["metadata"] == {"ui": [{"kind": "tool", "reasoning": thought}]}
    assert len(blocks(document, "image")) == 1


def test_a_call_that_is_a_list_stays(tasks):
    told = ["a shelf of forty books that nobody ever reads"]
    document = tasks.read([FIRST, ANSWER], [ASKED, ask(3, "tool", told)])
    assert told[0] in blocks(document, "tool_use")[0]["metadata"]["ui"][0]["tool"]


def test_rows_that_are_not_finished_and_have_no_time_are_told(tasks):
    rows = [{"type": "say", "say": "text", "text": text, "partial": text != "c"} for text in "abc"]
    document = tasks.read(rows=rows)
    assert [block["text"] for block in blocks(document, "text")] == ["a", "b", "c"]


def test_thoughts_stand_before_the_answer_in_their_order(tasks):
    rows = [ASKED, say(3, "reasoning", "One."), say(4, "reasoning", "Two.")]
    document = tasks.read([FIRST, ANSWER], rows)
    (told,) = by_author(document, "model")
    assert [block.get("thinking") for block in told["content"]] == ["One.", "Two.", None, None]


def test_a_row_tells_of_a_summary_that_has_a_heading_above_its_words(tasks):
    summary = user(6, "## Conversation Summary\nThe books were sorted.", isSummary=True, condenseId="c")
    condensed = {"summary": "The books were sorted.", "cost": 0.25}
    rows = [ASKED, say(6, "condense_context", contextCondense=condensed)]
    document = tasks.read([FIRST, ANSWER, summary], rows)
    assert len(document["summaries"]) == 1
    assert document["messages"][-1]["cost"]["amount"] == 0.25


def test_ids_that_are_no_texts_are_kept(tasks):
    said = [FIRST, answer(2, call("read_file", 7)), user(3, result("books", 7))]
    document = tasks.read(said)
    (made,), (told,) = blocks(document, "tool_use"), blocks(document, "tool_result")
    assert made["source_fields"] == {"id": 7}
    assert told["source_fields"] == {"tool_use_id": 7}
    assert told["tool_use_id"] == made["id"]


def test_what_a_command_wrote_is_told_only_where_the_history_lacks_it(tasks):
    """Rows of output are looked for as a whole first, then one by one."""
    lines = ["one book", "", "two books", "three books"]
    counted = answer(5, "Counting.", call("execute_command", command="count"))
    history = [FIRST, counted, user(9, result("\n".join(lines)))]

    def rows_of(written):
        return [ASKED, ask(3, "command", "count"), *(say(6, "command_output", line) for line in written)]

    whole = tasks.read(history, rows_of(lines))
    assert not [message for message in whole["messages"] if "ui" in message["metadata"]]
    more = tasks.read(history, rows_of([*lines, "no more books", "four books"]))
    assert [message["content"][0]["text"] for message in more["messages"] if "ui" in message["metadata"]] == [
        "no more books\nfour books"
    ]


def test_results_belong_to_calls_by_name_and_then_by_order():
    calls = PendingCalls()
    calls.reset([("read", "a"), ("write", "b"), ("read", "c")])
    assert calls.has_name("write")
    assert not calls.has_name("other")
    assert [calls.take(name) for name in ("read", "write", "write", "other", "other")] == ["a", "b", "b", "c", "c"]
    assert PendingCalls().take("read") is None


def test_looking_for_words_comes_to_an_end(monkeypatch):
    """Every row is looked for in the records around; rows beyond number must not take time beyond measure."""
    monkeypatch.setattr(history_search, "_INITIAL_BUDGET", 0)
    line = "a line of forty characters, or even more of them"
    found = HistoryText({0: {"content": f"{line}\nshort"}})
    assert [found.has("short", [0]) for _ in range(1000)].count(True) in range(50, 900)
    assert found.has_lines(line, [0])


# -- texts that would take hours, if anything were looked at again and again ------------------------------------------

MANY = 40_000


@pytest.mark.parametrize(
    "text",
    [
        "<" + " " * 10 * MANY + "]",
        "<read_file></read_file>" * MANY,
        "<read_file><path>" * MANY,
        "<task>\n" * MANY,
        "<task>\n</task> x" * MANY,
        "The user\n" * MANY + "</feedback>",
        "[read_file] Result: " * MANY,
        '<file "\n' * MANY,
    ],
    ids=lambda text: text[:20].strip(),
)
def test_a_text_of_one_thing_many_times_is_read(text, tasks):
    document = tasks.read([user(1, text), answer(2, text), user(3, result(text))])
    assert {message["message_id"].split(":")[1] for message in document["messages"]} == {"0", "1", "2"}


def test_many_calls_with_their_results_are_read(tasks):
    said = [FIRST, answer(2, "<read_file></read_file>" * MANY), user(3, *["[list_files] Result:\nx"] * MANY)]
    document = tasks.read(said)
    assert {block["tool_use_id"] for block in blocks(document, "tool_result")} >= {f"{TASK}:1:call"}
    assert len(blocks(document, "tool_result")) == MANY


def test_many_rows_of_output_are_read(tasks):
    rows = [ask(1, "command", "count"), *(say(2, "command_output", f"book {number}") for number in range(MANY))]
    document = tasks.read(rows=rows)
    assert blocks(document, "tool_result")[0]["content"].count("\n") == MANY - 1


def test_many_rows_of_other_tools_beside_many_records_are_read(tasks):
    said = [user(number, f"book {number}") for number in range(MANY // 4)]
    document = tasks.read(said, [{"type": "user", "content": f"shelf {number}"} for number in range(MANY // 4)])
    assert len(document["messages"]) == MANY // 2


def test_many_summaries_with_their_rows_are_read(tasks):
    said = [user(number, f"summary {number} of books", isSummary=True) for number in range(MANY // 8)]
    rows = [say(number, "condense_context", contextCondense={"summary": "none"}) for number in range(MANY // 8)]
    assert len(tasks.read(said, rows)["messages"]) == MANY // 4
