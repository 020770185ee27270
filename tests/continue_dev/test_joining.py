"""What prompts, events and settings add to a session: each thing once, and nothing that it does not say."""

import json

import pytest

from continue_dev.folders import SESSION, assistant, call, document, event, folder, imported, result, roles, texts, user
from palaver.importers.continue_dev.fields import parse_user_agent, token_counts
from palaver.importers.continue_dev.prompts import RecoveredMessages
from palaver.importers.continue_dev.side_files import read_models
from palaver.importers.continue_dev.text_match import KnownText
from palaver.sources.source import Source

RULES = "Speak of wells only, and never of rivers, whatever happens."
OTHER = "Speak of rivers only, and never of wells, whatever happens."


def log(prompt, completion, **rest):
    return {"modelTitle": "T", **rest, "prompt": prompt, "completion": completion}


def test_a_system_message_is_told_once_and_where_it_changes(tmp_path):
    first = f"<system>\n{RULES}\n\n<user>\na\n\n"
    second = f"{first}<assistant>\nb\n\n<user>\nc\n\n"
    third = f"<system>\n{OTHER}\n\n<user>\na\n\n<assistant>\nb\n\n<user>\nc\n\n<assistant>\nd\n\n<user>\ne\n\n"
    made = document(
        tmp_path,
        user("a"),
        assistant("b", promptLogs=[log(first, "b")]),
        user("c"),
        assistant("d", promptLogs=[log(second, "d")]),
        user("e"),
        assistant("f", promptLogs=[log(third, "f")]),
    )
    assert texts(made) == [RULES, "a", "b", "c", "d", OTHER, "e", "f"]
    systems = [message["metadata"] for message in made["messages"] if message["role"] == "system"]
    assert [metadata["author_kind"] for metadata in systems] == ["harness", "harness"]


def test_a_system_message_that_an_item_holds_is_not_told_again(tmp_path):
    system = {"message": {"role": "system", "content": RULES}, "contextItems": []}
    made = document(
        tmp_path, system, user("a"), assistant("b", promptLogs=[log(f"<system>\n{RULES}\n\n<user>\na\n\n", "b")])
    )
    assert texts(made) == [RULES, "a", "b"]


def test_a_prompt_that_was_cut_to_fit_says_nothing_new():
    heard = KnownText()
    heard.add("The first line of a long text\nand the second one, which is cut somewhere in its middle")
    assert heard.new_lines("which is cut somewhere in its middle\n<user>\nThe first line of a long text") == []
    assert heard.has_new_lines("which is cut somewhere in its middle")
    assert heard.new_lines("which is cut\nnowhere at all") == ["nowhere at all"]
    heard.drop_texts()
    assert heard.new_lines("The first line of a long text\nis cut somewhere") == ["is cut somewhere"]


def test_messages_of_another_model_say_so(tmp_path):
    made = document(
        tmp_path,
        user("a"),
        assistant("b", promptLogs=[log("<user>\na\n\n", "b", completionOptions={"model": "m-1"})]),
        user("c"),
        assistant("d", promptLogs=[log("<user>\nc\n\n", "d", completionOptions={"model": "m-2"})]),
    )
    assert made["platform"]["model"] == "m-2"
    assert [message["metadata"].get("model_override") for message in made["messages"]] == [None, "m-1", None, None]


def test_answers_with_the_same_words_get_their_times_in_order(tmp_path):
    lines = [
        event(
            "chatInteraction",
            f"2025-02-09T17:0{minute}:00.000Z",
            prompt="<user>\nq\n\n",
            completion="Yes.",
            sessionId=SESSION,
        )
        for minute in range(2)
    ]
    history = [user("q"), assistant("Yes."), user("q"), assistant("Yes.")]
    made = document(tmp_path, *history, **{"dev_data/0.2.0/chatInteraction.jsonl": lines})
    answers = [message for message in made["messages"] if message["role"] == "assistant"]
    assert [message["timestamp"] for message in answers] == ["2025-02-09T17:00:00.000Z", "2025-02-09T17:01:00.000Z"]
    assert texts(made) == ["q", "Yes.", "q", "Yes."]


def test_a_thought_tells_when_an_answer_began_and_an_event_when_it_was_whole(tmp_path):
    line = event("chatInteraction", prompt="<user>\nq\n\n", completion="<think>hm</think>r", sessionId=SESSION)
    answer = assistant("r", reasoning={"text": "hm", "startAt": 1739118830000, "endAt": 1739118831000})
    made = document(tmp_path, user("q"), answer, **{"dev_data/0.2.0/chatInteraction.jsonl": [line]})
    assert made["messages"][1]["timestamp"] == "2025-02-09T16:33:50.000Z"
    assert made["messages"][1]["metadata"]["completed_at"] == "2025-02-09T17:00:00.000Z"
    assert made["created_at"] == "2025-02-09T16:33:50.000Z"


@pytest.mark.parametrize(("thumbs", "score"), [([True], 5), ([False], 1), ([True, False], 3), ([None], None)])
def test_thumbs_are_a_rating(tmp_path, thumbs, score):
    lines = [
        event("chatFeedback", prompt="<user>\nq\n\n", completion="r", sessionId=SESSION, feedback=thumb)
        for thumb in thumbs
    ]
    made = document(tmp_path, user("q"), assistant("r"), **{"dev_data/0.2.0/chatFeedback.jsonl": lines})
    assert made.get("rating", {}).get("score") == score
    assert texts(made) == ["q", "r"]


def test_calls_in_pieces_are_replaced_by_what_the_next_prompt_has():
    tree = RecoveredMessages("s")
    tree.add("<user>\nq\n\n", '<assistant>\n\nls()\n\n<assistant>\n\n({"pa)\n\n', "2025-02-09T17:00:00.000Z")
    tree.add('<user>\nq\n\n<assistant>\n \nls({"path": "."})\n\n<tool>\nr\n\n', "done")
    assert [message["role"] for message in tree.messages] == ["user", "assistant", "tool", "assistant"]
    assert tree.messages[1]["content"] == [{"type": "text", "text": ' \nls({"path": "."})'}]
    assert tree.times == {"s:call-1": "2025-02-09T17:00:00.000Z"}


def test_an_event_that_says_more_than_the_result_is_kept_with_it(tmp_path):
    made = call("c1")
    line = event("toolUsage", toolCallId="c1", accepted=True, succeeded=True, output=[{"content": "more than that"}])
    found = document(
        tmp_path,
        assistant("", {"toolCalls": [made]}),
        result("c1", "that"),
        **{"dev_data/0.2.0/toolUsage.jsonl": [line]},
    )
    assert found["messages"][1]["content"][0]["metadata"]["tool_usage"] == {
        "accepted": True,
        "succeeded": True,
        "output": [{"content": "more than that"}],
    }
    assert roles(found) == ["assistant", "tool"]


def test_lines_that_are_damaged_are_read_again_as_they_were_read_first(tmp_path):
    """Two events on one line, half a surrogate pair, NUL bytes: prompts are not kept in memory."""
    lines = [
        event(
            "chatInteraction", prompt=f"<user>\nq{number}\n\n", completion=f"r{number} \ud83d", sessionId=f"s{number}"
        )
        for number in range(3)
    ]
    raw = f"{json.dumps(lines[0])}{json.dumps(lines[1])}\n\0\0{json.dumps(lines[2])}\n"
    found = imported(tmp_path, {"sessions/x.json": {"history": []}, "dev_data/0.2.0/chatInteraction.jsonl": raw})
    assert [texts(made) for made in found.documents] == [[f"q{number}", f"r{number} \ufffd"] for number in range(3)]


def test_a_config_with_comments_is_read_and_its_keys_are_not(tmp_path):
    text = """{
      // "models": [{"title": "Old", "model": "no"}],
      "models": [
        {"title": "A // not a comment", "model": "m /* nor this */", "provider": "p", "apiKey": "hush",},
      ], /* , ] */
      "tabAutocompleteModel": {"title": "Tab", "model": "t-1", "requestOptions": {"headers": {"x": "hush"}}},
    }"""
    root = folder(tmp_path, {"config.json": text})
    assert read_models(Source.at(root / "config.json")) == {
        "A // not a comment": {"provider": "p", "model": "m /* nor this */"},
        "Tab": {"model": "t-1"},
    }


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"promptTokens": 3, "completionTokens": 4}, {"input_tokens": 3, "output_tokens": 4}),
        ({"promptTokens": 3, "promptTokensDetails": None}, {"input_tokens": 3}),
        (
            {"promptTokens": 3, "promptTokensDetails": {"cachedTokens": 2, "audioTokens": 1}},
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 2,
                "source_fields": {"promptTokensDetails": {"cachedTokens": 2, "audioTokens": 1}},
            },
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": True},
            {"input_tokens": 3, "source_fields": {"completion_tokens": True}},
        ),
        ({"promptTokens": -1}, None),
        (7, None),
    ],
)
def test_tokens_are_those_that_are_stated(usage, tokens):
    assert token_counts(usage) == tokens


@pytest.mark.parametrize(
    ("stated", "agent"),
    [
        ("Visual Studio Code/1.109.5 (Continue/1.2.16)", ("Visual Studio Code", "1.2.16")),
        ("IntelliJ IDEA/2025.1 (Continue/1.0.30)", ("IntelliJ IDEA", "1.0.30")),
        ("something else", ("", "")),
        ("", ("", "")),
    ],
)
def test_the_user_agent_names_the_editor_and_the_version(stated, agent):
    assert parse_user_agent(stated) == agent
