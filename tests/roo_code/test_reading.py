"""How a task folder is found and read: alone, in a ZIP, cut off, too large for memory, beside other files."""

import json
import zipfile

import pytest

from importing import check, import_folder, import_units
from palaver.importers._cline_family import history, task_reader
from palaver.importers._cline_family.task_folder import owning_product
from palaver.sources.arrays import elements
from palaver.sources.source import Source
from palaver.workflows.find_units import find_units
from task_folders import TASK, answer, ask, blocks, by_author, call, request, result, say, spoken, surroundings, user

HISTORY = [
    user(1, "<task>\nPaint the shed.\n</task>", surroundings()),
    answer(5, "I look at it.", call("read_file", path="shed.md")),
    user(6, result("a shed of planks"), surroundings()),
    answer(9, call("attempt_completion", "call_2", result="It is painted.")),
]
ROWS = [say(0, "text", "Paint the shed."), request(2, tokensIn=3, tokensOut=4), request(7, tokensIn=5, tokensOut=6)]


def folder(root, **files):
    found = root / "tasks" / TASK
    found.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (found / f"{name}.json").write_text(json.dumps(value), "utf-8")
    return found


# -- what is found --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["api_conversation_history.json", "ui_messages.json"])
def test_one_of_the_two_files_leads_to_the_whole_task(name, tmp_path):
    task = folder(tmp_path, api_conversation_history=HISTORY, ui_messages=ROWS)
    whole = import_folder(tmp_path)
    units, report = find_units([task / name])
    alone = import_units(tmp_path, units, report)
    check(alone)
    assert [unit.platform for unit in units] == ["roo_code"]
    assert alone.documents == whole.documents


def test_a_task_in_a_zip_is_the_same(tmp_path):
    task = folder(tmp_path / "there", api_conversation_history=HISTORY, ui_messages=ROWS)
    with zipfile.ZipFile(tmp_path / "tasks.zip", "w") as archive:
        for path in task.iterdir():
            archive.write(path, f"backup/tasks/{TASK}/{path.name}")
    units, report = find_units([tmp_path / "tasks.zip"])
    packed = import_units(tmp_path, units, report)
    check(packed)
    assert packed.documents == import_folder(tmp_path / "there").documents


def test_checkpoints_are_neither_read_nor_listed(tmp_path):
    task = folder(tmp_path, api_conversation_history=HISTORY)
    objects = task / "checkpoints" / ".git" / "objects"
    objects.mkdir(parents=True)
    (objects / "ab").write_bytes(b"x\x9c anything")
    (task / "checkpoints" / "ui_messages.json").write_text("[]", "utf-8")
    imported = import_folder(tmp_path)
    assert len(imported.units) == 1
    assert imported.found.unclaimed == []


def test_a_history_under_its_old_name_counts_where_there_is_no_newer_one(tmp_path):
    task = folder(tmp_path, claude_messages=HISTORY)
    assert len(by_author(import_folder(tmp_path).documents[0], "model")) == 2
    (task / "api_conversation_history.json").write_text(json.dumps(HISTORY[:2]), "utf-8")
    imported = import_folder(tmp_path)
    check(imported)
    assert len(by_author(imported.documents[0], "model")) == 1
    assert imported.reports[0].ledger.skipped == {"older-copy": 1}


@pytest.mark.parametrize(
    ("path", "files", "platform"),
    [
        ("any", {}, "roo_code"),
        ("rooveterinaryinc.roo-cline", {"ui_messages": [ask(1, "payment_required_prompt")]}, "roo_code"),
        ("saoudrizwan.claude-dev", {"api_conversation_history": [user(1, surroundings())]}, "cline"),
        ("kilocode.kilo-code", {}, "kilo_code"),
        ("any", {"ui_messages": [ask(1, "payment_required_prompt")]}, "kilo_code"),
        ("any", {"api_conversation_history": [answer(1, "a", modelInfo={"modelId": "m"})]}, "cline"),
        ("any", {"api_conversation_history": [user(1, "# Current Mode\nACT MODE\n</environment_details>")]}, "cline"),
        ("any", {"api_conversation_history": [user(1, "[read_file for 'a'] Result:\nbody")]}, "cline"),
        ("any", {"api_conversation_history": [user(1, "[read_file for 'a'] Result:", "body")]}, "roo_code"),
        ("any", {"api_conversation_history": [user(1, surroundings(), modelInfo=1)]}, "roo_code"),
        ("any", {"context_history": []}, "cline"),
        ("any", {"history_item": {}, "ui_messages": [say(1, "text", "x", conversationHistoryIndex=1)]}, "roo_code"),
    ],
)
def test_whose_task_it_is(path, files, platform, tmp_path):
    found = folder(tmp_path / path, **{"ui_messages": [], **files})
    assert owning_product(Source.at(found)).platform == platform
    claims = {unit.platform for unit in find_units([tmp_path])[0]}
    assert claims == {platform}


# -- what is read ---------------------------------------------------------------------------------------------------


def test_a_history_that_is_cut_off_keeps_its_whole_messages(tmp_path):
    task = folder(tmp_path, api_conversation_history=HISTORY)
    raw = (task / "api_conversation_history.json").read_bytes()
    (task / "api_conversation_history.json").write_bytes(raw[: raw.index(b"a shed of planks")])
    imported = import_folder(tmp_path)
    check(imported)
    (document,) = imported.documents
    assert ("user", "human", "Paint the shed.") in spoken(document)
    assert blocks(document, "tool_use")[0]["name"] == "read_file"


def test_a_history_that_is_too_large_comes_in_fragments(tmp_path, monkeypatch):
    said = [user(0, "<task>\nCount.\n</task>", condenseParent="c")]
    rows = [say(0, "text", "Count.")]
    for number in range(1, 40):
        rows += [
            request(10 * number, tokensIn=number, tokensOut=1),
            say(10 * number + 1, "reasoning", f"thought {number}"),
        ]
        said.append(answer(10 * number + 2, f"answer {number}", call("read_file", f"c{number}", path=str(number))))
        said.append(user(10 * number + 3, result(f"result {number}", f"c{number}")))
    said.append(user(500, "The end.", isSummary=True, condenseId="c"))
    folder(tmp_path, api_conversation_history=said, ui_messages=rows)
    (whole,) = import_folder(tmp_path).documents
    monkeypatch.setattr(elements, "SMALL_BYTES", 2000)
    monkeypatch.setattr(task_reader, "LARGE_BYTES", 2000)
    monkeypatch.setattr(task_reader, "PORTION_BYTES", 2000)
    imported = import_folder(tmp_path)
    check(imported)
    parts = imported.documents
    assert len(parts) > 3
    assert [part["fragment"]["sequence"] for part in parts] == list(range(len(parts)))
    assert [part["fragment"]["final"] for part in parts] == [False] * (len(parts) - 1) + [True]
    assert [message for part in parts for message in part["messages"]] == whole["messages"]
    assert parts[-1]["metrics"] == whole["metrics"]
    assert parts[-1]["summaries"] == whole["summaries"]


def test_a_small_history_beside_a_large_log_is_not_cut(tmp_path, monkeypatch):
    said = [turn for at in range(1, 40, 2) for turn in (user(at, "Go on."), answer(at + 1, "Yes."))]
    rows = [say(at, "error", f"The line was lost for the {at}th time.") for at in range(400)]
    log = folder(tmp_path, api_conversation_history=said, ui_messages=rows) / "ui_messages.json"
    monkeypatch.setattr(elements, "SMALL_BYTES", log.stat().st_size - 1)
    monkeypatch.setattr(task_reader, "LARGE_BYTES", log.stat().st_size // 2)
    imported = import_folder(tmp_path)
    check(imported)
    (document,) = imported.documents
    assert "fragment" not in document


def test_an_empty_folder_of_a_task_has_no_messages(tmp_path):
    folder(tmp_path, ui_messages=[], api_conversation_history=[])
    imported = import_folder(tmp_path)
    check(imported)
    assert [document["messages"] for document in imported.documents] == [[]]


# -- answers and rows -----------------------------------------------------------------------------------------------


def test_a_request_that_was_cancelled_keeps_its_answer(tasks):
    rows = [request(1, tokensIn=9, tokensOut=8, cancelReason="user_cancelled")]
    document = tasks.read([HISTORY[0], answer(4, "I begin\n\n[Response interrupted by user]")], rows)
    assert document["messages"][-1]["metadata"]["cancelReason"] == "user_cancelled"
    assert document["messages"][-1]["tokens"] == {"input_tokens": 9, "output_tokens": 8}


def test_answers_without_times_get_their_requests_in_order(tasks):
    said = [
        user(None, "<task>\nGo.\n</task>"),
        answer(None, "One."),
        user(None, "<answer>\nOn.\n</answer>"),
        answer(None, "Two."),
    ]
    rows = [
        request(1, tokensIn=1, tokensOut=1),
        say(2, "text", "One."),
        request(3, cancelReason="streaming_failed"),
        request(4, tokensIn=2, tokensOut=2),
        say(5, "text", "Two."),
    ]
    document = tasks.read(said, rows, "cline")
    answers = by_author(document, "model")
    assert [message["tokens"]["input_tokens"] for message in answers] == [1, 2]
    assert [message["timestamp"][17:19] for message in answers] == ["22", "25"]
    assert not any("timestamp_inferred" in message["metadata"] for message in document["messages"])


MENTIONS = [
    ("Look at @/a.md please", "Look at 'a.md' (see below for file content) please"),
    ("@/a.md", "'a.md' (see below for file content)"),
    ("Read @/my\\ notes.md first.", "Read 'my\\ notes.md' (see below for file content) first."),
    ("Why does @terminal say so?", "Why does Terminal Output (see below for output) say so?"),
    (
        "/repair the shed, see @/a.md",
        "Command 'repair' (see below for command content) the shed, see 'a.md' (see below for file content)",
    ),
    ("/repair", "Command 'repair' (see below for command content)"),
    ('Read @"/my notes.md", then stop.', "Read 'my notes.md' (see below for file content), then stop."),
    (
        "Mind @/a.md, @/b/ and @problems!",
        "Mind 'a.md' (see below for file content), 'b/' (see below for files) and Problems (see below for them)!",
    ),
]


@pytest.mark.parametrize("platform", ["roo_code", "cline", "kilo_code"])
@pytest.mark.parametrize(("typed", "sent"), MENTIONS)
def test_a_prompt_with_mentions_is_shown_as_it_was_typed_and_kept_as_it_was_sent(tasks, typed, sent, platform):
    content = '<file_content path="a.md">\nThe pears are ripe.\n</file_content>'
    said = [user(1, f"<task>\n{sent}\n</task>\n\n{content}", surroundings()), answer(2, "Yes.")]
    document = tasks.read(said, [say(0, "text", typed), request(1, tokensIn=1, tokensOut=1)], platform)
    (prompt,) = by_author(document, "human")
    assert [block["text"] for block in prompt["content"]] == [typed]
    assert prompt["metadata"]["sent_as"] == [sent]
    assert any(content in block["text"] for message in by_author(document, "harness") for block in message["content"])


@pytest.mark.parametrize(
    ("typed", "sent"),
    [("/newtask paint it", "paint it"), ("/plan see @/a.md", "see 'a.md' (see below for file content)")],
)
def test_a_command_that_became_instructions_is_shown_as_it_was_typed(tasks, typed, sent):
    instructions = '<explicit_instructions type="new_task">\nSay what is left to do.\n</explicit_instructions>'
    said = [user(1, f"<task>\n{instructions}\n {sent}\n</task>", surroundings()), answer(2, "Yes.")]
    document = tasks.read(said, [say(0, "text", typed), request(1, tokensIn=1, tokensOut=1)], "cline")
    (prompt,) = by_author(document, "human")
    assert [block["text"] for block in prompt["content"]] == [typed]
    assert [text.strip() for text in prompt["metadata"]["sent_as"]] == [sent]


def test_a_prompt_that_the_history_words_in_an_unknown_way_is_kept_as_typed(tasks):
    said = [user(1, "<task>\nLook at the notes please\n</task>", surroundings()), answer(2, "Yes.")]
    document = tasks.read(said, [say(0, "text", "Look at @/a.md please"), request(1, tokensIn=1, tokensOut=1)])
    said = [block["text"] for message in by_author(document, "human") for block in message["content"]]
    assert said == ["Look at @/a.md please", "Look at the notes please"]


def test_feedback_with_a_mention_is_shown_as_it_was_typed(tasks):
    sent = "No, take 'b.md' (see below for file content) instead"
    said = [
        user(1, "<task>\nLook around.\n</task>"),
        answer(2, "Done."),
        user(5, f"<feedback>\n{sent}\n</feedback>", surroundings()),
        answer(6, "Done again."),
    ]
    rows = [
        say(0, "text", "Look around."),
        request(1, tokensIn=1, tokensOut=1),
        say(2, "text", "Done."),
        say(4, "user_feedback", "No, take @/b.md instead"),
        request(5, tokensIn=1, tokensOut=1),
        say(6, "text", "Done again."),
    ]
    document = tasks.read(said, rows)
    assert [message["content"][0]["text"] for message in by_author(document, "human")] == [
        "Look around.",
        "No, take @/b.md instead",
    ]
    assert by_author(document, "human")[1]["metadata"]["sent_as"] == [sent]


@pytest.mark.parametrize("text", ["Write to ann@example.org please", "Explain what (see below for more) means"])
def test_a_prompt_without_mentions_stays_as_it_is(tasks, text):
    document = tasks.read([user(1, f"<task>\n{text}\n</task>"), answer(2, "Yes.")], [say(0, "text", text)])
    (prompt,) = by_author(document, "human")
    assert prompt["content"][0]["text"] == text
    assert "sent_as" not in prompt["metadata"]


def test_a_text_that_says_more_than_the_row_is_not_taken_for_it(tasks):
    said = [
        user(1, "<task>\nLook at 'a.md' (see below for file content) please, and hurry\n</task>"),
        answer(2, "Yes."),
    ]
    document = tasks.read(said, [say(0, "text", "Look at @/a.md please")])
    assert by_author(document, "human")[-1]["content"][0]["text"].endswith("please, and hurry")


def test_what_a_person_says_in_a_word_is_not_found_by_chance(tasks):
    said = [HISTORY[0], answer(2, call("read_file")), user(9, result("go on and on"), surroundings())]
    document = tasks.read(said, [request(1, tokensIn=1, tokensOut=1), say(5, "user_feedback", "go")])
    assert ("user", "human", "go") in spoken(document)


def test_a_call_keeps_what_only_the_interface_says_of_it(tasks):
    path = "/home/painter/sheds/behind/the/house/shed.md"
    rows = [
        request(2, tokensIn=1, tokensOut=1),
        ask(4, "tool", {"tool": "readFile", "path": "shed.md", "content": path}),
    ]
    document = tasks.read(HISTORY, rows)
    assert blocks(document, "tool_use")[0]["metadata"] == {"ui": [{"kind": "tool", "content": path}]}


@pytest.mark.parametrize(
    ("content", "is_error"),
    [
        ("The tool execution failed with the following error:\n<error>\nno\n</error>", True),
        ('{"status":"error","message":"no"}', True),
        ('{"status":"denied"}', True),
        ('{"status":"approved","feedback":"but slowly"}', False),
        ("Error: this is what the file says", False),
    ],
)
def test_a_result_is_an_error_where_it_says_so_itself(content, is_error, tasks):
    document = tasks.read([HISTORY[0], answer(2, call("read_file")), user(3, result(content))])
    assert blocks(document, "tool_result")[0]["is_error"] is is_error
    assert len(by_author(document, "human")) == (2 if "feedback" in content else 1)


def test_a_bug_in_one_message_costs_that_message_alone(tmp_path, monkeypatch):
    def break_on_calls(*_, **__):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(history, "call_blocks", break_on_calls)
    folder(tmp_path, api_conversation_history=[*HISTORY[:3], answer(9, "Done.")])
    imported = import_folder(tmp_path)
    assert imported.reports[0].ledger.quarantined == {"unforeseen": 1}
    assert ("assistant", "model", "Done.") in spoken(imported.documents[0])


@pytest.mark.parametrize(
    "where",
    [
        {"reasoning_content": "The door comes last."},
        {"reasoning_details": [{"type": "reasoning.text", "text": "The door comes last."}]},
        {"content": [{"type": "reasoning", "text": "The door comes last.", "summary": []}]},
        {"content": [{"type": "thinking", "thinking": "The door comes last.", "signature": "c2VhbA=="}]},
    ],
)
def test_reasoning_that_the_history_has_is_not_told_twice(where, tasks):
    rows = [request(1, tokensIn=1, tokensOut=1), say(2, "reasoning", "The door comes last.")]
    document = tasks.read([HISTORY[0], {**answer(4, "I paint."), **where}], rows)
    assert [block["thinking"] for block in blocks(document, "thinking")] == ["The door comes last."]


def test_settings_are_kept_without_what_lets_in(tasks):
    settings = {
        "openAiHeaders": {"Authorization": "REDACTED-BY-FIXTURE"},
        "awsAccessKey": "REDACTED-BY-FIXTURE",
        "liteLlmBaseUrl": "https://painter:REDACTED-BY-FIXTURE@models.example/v1",
        "thinkingBudgetTokens": 1024,
        "mcp": [{"apiKey": "REDACTED-BY-FIXTURE", "name": "sheds"}],
    }
    document = tasks.read(HISTORY, platform="cline", settings=settings)
    kept = document["context"]["custom"]["settings"]
    assert "REDACTED-BY-FIXTURE" not in json.dumps(document)
    assert (kept["thinkingBudgetTokens"], kept["mcp"][0]["name"]) == (1024, "sheds")
    assert kept["liteLlmBaseUrl"] == "https://models.example/v1"
