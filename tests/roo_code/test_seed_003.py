"""The mapping's own examples for Roo Code: a system prompt from its parts, and modes in the platform's metadata."""

import palaver
from task_folders import TASK, answer, at, call, result, surroundings, user

PROMPT = {
    "roleDefinition": "You are Roo, an experienced technical leader.",
    "toolDescriptions": "## read_file\nReads a file.",
    "customInstructions": "Write a plan before anything else.",
    "mode": "architect",
    "capabilities": ["read", "edit"],
    "systemInfo": {"os": "Linux", "shell": "/bin/bash"},
    "timestamp": at(1),
}
HISTORY = [user(2, "<task>\nPlan the garden.\n</task>", surroundings("architect")), answer(3, "Gladly.")]


def test_a_system_prompt_is_one_message_of_its_parts(tasks):
    document = tasks.read(HISTORY, task_metadata={"system_prompt": PROMPT})
    first = document["messages"][0]
    assert first == {
        "message_id": f"{TASK}:system",
        "role": "system",
        "timestamp": "2025-09-04T15:33:21.000Z",
        "content": [
            {
                "type": "text",
                "text": "You are Roo, an experienced technical leader.\n\n"
                "## read_file\nReads a file.\n\n"
                "Write a plan before anything else.",
            }
        ],
        "metadata": {
            "author_kind": "harness",
            "mode": "architect",
            "capabilities": ["read", "edit"],
            "system_info": {"os": "Linux", "shell": "/bin/bash"},
        },
    }
    assert [message["role"] for message in document["messages"]].count("system") == 1


def test_a_whole_system_prompt_is_taken_as_it_is(tasks):
    document = tasks.read(HISTORY, settings={"system_prompt": "You are Roo."})
    assert document["messages"][0]["content"] == [{"type": "text", "text": "You are Roo."}]
    assert document["messages"][0]["metadata"]["timestamp_inferred"] is True


def test_modes_are_tracked(tasks):
    (tasks.root / "rooveterinaryinc.roo-cline" / "settings").mkdir(parents=True)
    (tasks.root / "rooveterinaryinc.roo-cline" / "settings" / "custom_modes.yaml").write_text(
        "customModes:\n"
        "- {slug: ask, name: Ask, roleDefinition: You answer questions.}\n"
        "- {slug: debug, name: Debug, roleDefinition: You find faults.}\n",
        "utf-8",
    )
    document = tasks.read(
        [
            user(1, "<task>\nPlan the garden.\n</task>", surroundings("architect")),
            answer(2, call("switch_mode", mode_slug="code", reason="to write it down")),
            user(3, result("Successfully switched."), surroundings("code")),
            answer(4, "Done."),
        ],
        history_item={"id": TASK, "mode": "code", "workspace": "/garden"},
    )
    assert document["platform"]["metadata"] == {
        "mode": "code",
        "active_mode": "code",
        "available_modes": ["architect", "code", "ask", "debug"],
        "mode_persistence": True,
    }
    assert document["session"]["session_id"] == TASK
    assert document["context"]["workspace"] == {"path": "/garden"}


def test_custom_instructions_are_those_for_all_and_those_of_the_mode(tasks):
    storage = tasks.root / "rooveterinaryinc.roo-cline"
    (storage / "settings").mkdir(parents=True)
    (storage / "settings" / "custom_modes.yaml").write_text(
        "customModes:\n- {slug: architect, name: A, roleDefinition: You plan., customInstructions: Plan it twice.}\n",
        "utf-8",
    )
    (storage / "globalState.json").write_text('{"customInstructions": "Be brief."}', "utf-8")
    document = tasks.read(HISTORY)
    assert document["context"]["custom"]["custom_instructions"] == "Be brief.\n\nPlan it twice."
    assert document["messages"][0]["content"][0]["text"] == "You plan.\n\nBe brief.\n\nPlan it twice."


def test_what_the_table_requires_is_there_and_a_lack_is_told(tasks):
    """Session, mode and messages."""
    document = tasks.read(HISTORY)
    assert palaver.validate(document) == palaver.ValidationResult(True, [], [])
    del document["platform"]["metadata"]["mode"], document["platform"]["metadata"]["active_mode"]
    (told,) = palaver.validate(document).warnings
    assert "without mode" in told
