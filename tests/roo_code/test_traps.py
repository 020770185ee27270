"""The numbered traps of the format notes that concern task folders."""

import pytest

from palaver.importers._cline_family.tool_calls import mcp_parts
from task_folders import TASK, answer, ask, blocks, by_author, call, request, result, say, spoken, surroundings, user

MODEL_INFO = {"modelId": "claude-sonnet-4-5", "providerId": "anthropic", "mode": "act"}
FIRST = user(1, "<task>\nMow the lawn.\n</task>")


def test_trap_2_a_result_in_text_belongs_to_its_call(tasks):
    """Cline calls by id and answers in text: the results are found by order, without their first line."""
    document = tasks.read(
        [
            user(1, "<task>\nRead both files.\n</task>"),
            answer(2, call("read_file", "a", path="a.txt"), call("read_file", "b", path="b.txt"), modelInfo=MODEL_INFO),
            user(3, "[read_file for 'a.txt'] Result:\nfirst", "[read_file for 'b.txt'] Result:\nsecond"),
        ],
        platform="cline",
    )
    found = [(block["tool_use_id"], block["content"]) for block in blocks(document, "tool_result")]
    assert found == [("a", "first"), ("b", "second")]
    assert blocks(document, "tool_result")[0]["metadata"] == {"description": "read_file for 'a.txt'"}


def test_trap_2_a_header_is_stripped_from_a_result_that_names_its_call_as_well(tasks):
    document = tasks.read(
        [FIRST, answer(2, call("read_file")), user(3, result("[read_file for 'a.txt'] Result:\nbody"))],
        platform="cline",
    )
    assert blocks(document, "tool_result")[0]["content"] == "body"


def test_trap_3_calls_are_read_by_the_rules_of_the_product_not_of_xml(tasks):
    content = "<content>\n<content>1 &lt; 2</content> & more\n</content>"
    written = f"<write_to_file>\n<path>a.xml</path>\n{content}\n</write_to_file>"
    document = tasks.read([FIRST, answer(2, f"A <b>bold</b> step.\n\n{written}")])
    assert blocks(document, "tool_use")[0]["input"] == {
        "path": "a.xml",
        "content": "<content>1 &lt; 2</content> & more",
    }
    assert blocks(document, "text")[-1]["text"] == "A <b>bold</b> step."


def test_trap_4_only_what_remains_without_the_wrappers_is_a_person_s(tasks):
    document = tasks.read(
        [
            user(
                1,
                '<task>\nMow the lawn of @/garden.\n</task>\n\n<folder_content path="garden">\nlawn\n</folder_content>',
                surroundings(),
            ),
            answer(2, "Gladly."),
            user(3, "[ERROR] You did not use a tool in your previous response! Please retry.", surroundings()),
        ]
    )
    assert [message["content"][0]["text"] for message in by_author(document, "human")] == ["Mow the lawn of @/garden."]
    assert by_author(document, "human")[0]["metadata"]["wrapper"] == "task"
    assert len(by_author(document, "harness")) == 2


@pytest.mark.parametrize("role", ["assistant", "user"])
def test_trap_5_a_summary_is_nobody_s_words_whatever_its_role(role, tasks):
    summary = {
        "role": role,
        "content": "What was said so far.",
        "isSummary": True,
        "condenseId": "c",
        "ts": FIRST["ts"],
    }
    document = tasks.read([{**FIRST, "condenseParent": "c"}, summary])
    message = document["messages"][-1]
    assert (message["role"], message["metadata"]["author_kind"]) == ("system", "harness")
    assert message["metadata"]["is_compact_summary"] is True
    assert document["summaries"][0]["covers_messages"] == [f"{TASK}:0"]


def test_trap_6_hidden_messages_stay_and_say_so(tasks):
    document = tasks.read(
        [
            user(1, "<task>\nOne.\n</task>", condenseParent="c"),
            answer(2, "Two.", condenseParent="undone"),
            user(3, "Three.", isSummary=True, condenseId="c"),
            answer(4, "Four.", truncationParent="t"),
            user(5, "[hidden]", isTruncationMarker=True, truncationId="t"),
        ]
    )
    hidden = [message["metadata"].get("in_context") for message in document["messages"]]
    assert hidden == [False, None, None, False, None]


def test_trap_6_a_deleted_range_includes_both_ends_and_the_furthest_counts(tasks):
    history = [user(number, f"<task>\n{number}\n</task>", modelInfo=MODEL_INFO) for number in range(6)]
    rows = [say(1, "task", "0"), say(4, "text", "", conversationHistoryDeletedRange=[2, 4])]
    item = {"conversationHistoryDeletedRange": [2, 3]}
    document = tasks.read(history, rows, "cline", history_item=item)
    hidden = [message["message_id"] for message in document["messages"] if "in_context" in message["metadata"]]
    assert hidden == [f"{TASK}:{number}" for number in (2, 3, 4)]


@pytest.mark.parametrize(
    ("platform", "stated", "uncached"),
    [("roo_code", 10, 10), ("roo_code", 38_000, 300), ("kilo_code", 37_700, 0), ("cline", 38_000, 38_000)],
)
def test_trap_7_tokens_in_has_two_meanings(platform, stated, uncached, tasks):
    rows = [request(1, tokensIn=stated, tokensOut=7, cacheWrites=37_677, cacheReads=23, cost=0.1)]
    document = tasks.read([FIRST, answer(2, "Done.")], rows, platform)
    assert document["messages"][-1]["tokens"] == {
        "input_tokens": uncached,
        "output_tokens": 7,
        "cache_creation_input_tokens": 37_677,
        "cache_read_input_tokens": 23,
    }
    assert document["messages"][-1]["cost"] == {"amount": 0.1, "currency": "USD"}


def test_trap_8_what_cline_calls_cached_is_not_guessed_apart(tasks):
    metrics = {"tokens": {"prompt": 10, "completion": 595, "cached": 9573}}
    history = [FIRST, answer(2, "Done.", modelInfo=MODEL_INFO, metrics=metrics)]
    alone = tasks.read(history, platform="cline")["messages"][-1]
    assert alone["tokens"] == {"input_tokens": 10, "output_tokens": 595}
    assert alone["metadata"]["metrics"] == metrics
    rows = [request(1, tokensIn=10, tokensOut=595, cacheWrites=9573, cacheReads=0, cost=0.04)]
    told = tasks.read(history, rows, "cline")["messages"][-1]["tokens"]
    assert (told["cache_creation_input_tokens"], told["cache_read_input_tokens"]) == (9573, 0)


def test_trap_9_the_model_of_a_turn_is_the_one_in_its_surroundings(tasks):
    document = tasks.read(
        [
            user(1, "<task>\nMow.\n</task>", surroundings(model="first-model")),
            answer(2, "One."),
            user(3, "<user_message>\nGo on.\n</user_message>", surroundings("architect", "second-model")),
            answer(4, "Two."),
            answer(5, "Three."),
        ]
    )
    models = [message["metadata"].get("model_override") for message in by_author(document, "model")]
    assert models == ["first-model", "second-model", "second-model"]
    assert document["platform"]["model"] == "second-model"


def test_trap_10_roles_that_repeat_stay_as_they_are(tasks):
    document = tasks.read(
        [FIRST, user(2, "<user_message>\nNow.\n</user_message>"), answer(3, "One."), answer(4, "Two.")]
    )
    assert [message["role"] for message in document["messages"]] == ["user", "user", "assistant", "assistant"]
    assert [message.get("parent_message_id") for message in document["messages"]] == [
        None,
        *(f"{TASK}:{number}" for number in range(3)),
    ]


def test_trap_11_a_row_that_grew_is_told_once_and_output_comes_in_one_piece(tasks):
    rows = [
        say(1, "text", "Count the sheep of the northern pasture."),
        request(2, tokensIn=5, tokensOut=5),
        say(3, "text", "There are", partial=True),
        say(3, "text", "There are two gates.", partial=False),
        ask(4, "command", "count sheep"),
        *(say(5 + number, "command_output", f"sheep number {number}\n") for number in range(237)),
    ]
    document = tasks.read(rows=rows)
    assert [text for _, _, text in spoken(document)] == [
        "Count the sheep of the northern pasture.",
        "There are two gates.",
        "",
    ]
    (counted,) = blocks(document, "tool_result")
    assert counted["content"].count("sheep number") == 237
    assert tasks.imported.reports[0].ledger.read == 242


@pytest.mark.parametrize(
    ("row", "role", "author"),
    [
        ({"id": "m1", "type": "user", "content": "How many?"}, "user", "human"),
        ({"author": "agent", "text": "How many?"}, "assistant", "model"),
        ({"type": "assistant", "content": {"text": "How many?"}}, "assistant", "model"),
    ],
)
def test_trap_12_rows_and_metadata_of_other_tools_are_read_leniently(row, role, author, tasks):
    document = tasks.read(rows=[row], task_metadata={"workspace": "/barn", "title": "Sheep", "files_in_context": 7})
    assert spoken(document) == [(role, author, "How many?")]
    assert document["context"]["workspace"] == {"path": "/barn"}
    assert document["context"]["custom"]["task_metadata"]["files_in_context"] == 7


@pytest.mark.parametrize("name", ["mcp--gazetteer--lookup", "mcp__gazetteer__lookup"])
def test_trap_15_an_mcp_tool_is_known_in_both_spellings(name, tasks):
    document = tasks.read([FIRST, answer(2, call(name, place="Zermatt"))])
    (made,) = blocks(document, "tool_use")
    assert (made["name"], made["metadata"]) == (name, {"server": "gazetteer", "tool": "lookup"})
    assert mcp_parts("mcp--alone") == mcp_parts("read_file") == {}


def test_trap_16_the_result_of_a_task_is_the_answer_and_an_answer_is_a_person_s(tasks):
    document = tasks.read(
        [
            FIRST,
            answer(2, call("ask_followup_question", "q", question="Which lawn?")),
            user(3, result("<user_message>\nThe upper one.\n</user_message>", "q")),
            answer(4, call("attempt_completion", "c", result="It is mown.", command="open lawn")),
        ]
    )
    assert ("assistant", "model", "It is mown.") in spoken(document)
    assert blocks(document, "tool_use")[-1]["input"] == {"command": "open lawn"}
    assert ("user", "human", "The upper one.") in spoken(document)


def test_trap_17_results_are_no_words_and_their_images_stay(tasks):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    document = tasks.read(
        [
            FIRST,
            answer(2, "<browser_action>\n<action>launch</action>\n</browser_action>"),
            user(3, "[browser_action for 'launch'] Result:", "The page was opened.", picture, surroundings()),
        ]
    )
    (told,) = blocks(document, "tool_result")
    assert [block["type"] for block in told["content"]] == ["text", "image"]
    assert len(by_author(document, "human")) == 1


def test_trap_18_a_system_prompt_is_there_only_where_something_is_known_of_it(tasks):
    history = [user(1, "<task>\nMow.\n</task>", surroundings("mower"))]
    assert tasks.read(history)["messages"][0]["role"] == "user"
    settings = tasks.root / "rooveterinaryinc.roo-cline" / "settings"
    settings.mkdir()
    settings.joinpath("custom_modes.yaml").write_text(
        "customModes:\n- slug: mower\n  name: Mower\n  roleDefinition: You mow lawns.\n  groups: [read]\n", "utf-8"
    )
    first, second = tasks.read(history)["messages"][:2]
    assert (first["role"], first["content"]) == ("system", [{"type": "text", "text": "You mow lawns."}])
    assert (first["metadata"]["mode"], first["metadata"]["capabilities"]) == ("mower", ["read"])
    assert second["parent_message_id"] == first["message_id"]
    assert tasks.imported.reports[0].findings.counts["inferred-timestamp"] == 1


def test_trap_19_json_in_the_text_of_rows_is_read(tasks):
    rows = [
        say(0, "text", "Mow the lawn."),
        request(1, tokensIn=3, tokensOut=4),
        ask(2, "followup", {"question": "Which lawn?", "suggest": [{"answer": "Both"}]}),
        ask(3, "plan_mode_respond", {"response": "I begin at the gate.", "options": []}),
        say(4, "completion_result", "Both lawns are mown.HAS_CHANGES"),
    ]
    document = tasks.read(rows=rows, platform="cline")
    (asked,) = blocks(document, "tool_use")
    assert (asked["name"], asked["input"]["question"]) == ("ask_followup_question", "Which lawn?")
    assert document["messages"][-1]["tokens"] == {"input_tokens": 3, "output_tokens": 4}
    assert [text["text"] for text in blocks(document, "text")][1:] == ["I begin at the gate.", "Both lawns are mown."]


def test_trap_20_a_request_without_numbers_died(tasks):
    rows = [
        request(1, apiProtocol="openai"),
        request(2, cancelReason="streaming_failed", streamingFailedMessage="overloaded"),
        request(3, tokensIn=9, tokensOut=8, cost=0),
    ]
    document = tasks.read([FIRST, answer(4, "Done.")], rows)
    died = [message for message in document["messages"] if message["metadata"].get("ui") == "api_req_started"]
    assert [message["role"] for message in died] == ["system", "system"]
    assert died[1]["content"] == [{"type": "text", "text": "overloaded"}]
    assert died[1]["metadata"]["cancelReason"] == "streaming_failed"
    assert document["messages"][-1]["tokens"] == {"input_tokens": 9, "output_tokens": 8}
