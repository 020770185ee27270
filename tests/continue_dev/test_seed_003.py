"""The two transformations that the mapping specification shows for Continue."""

from continue_dev.folders import SESSION, assistant, document, imported, texts, user
from palaver.importers.continue_dev.fields import document_context
from palaver.importers.continue_dev.prompts import parse_prompt

CHATML = "<|im_start|>user\nHow are you<|im_end|>\n<|im_start|>assistant\nI am doing well!<|im_end|>"


def test_chatml_becomes_messages():
    assert parse_prompt(CHATML) == ("chatml", [("user", "How are you"), ("assistant", "I am doing well!")])


def test_a_session_of_which_only_the_prompt_is_left_is_made_of_it(tmp_path):
    made = document(tmp_path, assistant("", promptLogs=[{"prompt": CHATML, "completion": "So am I."}]))
    assert [(message["role"], message["content"]) for message in made["messages"]] == [
        ("user", [{"type": "text", "text": "How are you"}]),
        ("assistant", [{"type": "text", "text": "I am doing well!"}]),
        ("assistant", [{"type": "text", "text": "So am I."}]),
    ]
    assert len({message["message_id"] for message in made["messages"]}) == 3


def test_the_context_of_a_conversation_is_that_of_the_specification():
    providers = [{"name": "codebase", "query": "wells", "icon": "x"}, {"name": "docs", "query": "ropes"}]
    assert document_context("/home/jo/well", "main", providers, {"files": ["well.py"]}) == {
        "workspace": {"path": "/home/jo/well", "git_branch": "main"},
        "custom": {
            "context_providers": [{"name": "codebase", "query": "wells"}, {"name": "docs", "query": "ropes"}],
            "codebase_context": {"files": ["well.py"]},
        },
    }


def test_context_items_name_their_providers_and_what_was_asked_of_them(tmp_path):
    def item(provider, name, **fields):
        return {"content": f"what {name} says", "name": name, "description": name, **fields} | {
            "id": {"providerTitle": provider, "itemId": f"id-of-{name}"}
        }

    def mention(**attributes):
        return {"type": "mention", "attrs": attributes}

    asked = [
        mention(itemType="contextProvider", id="codebase", label="Codebase", query="where wells are dug"),
        mention(itemType="file", id="file:///w/well.py", label="well.py", query="file:///w/well.py"),
        mention(itemType="contextProvider", id="docs", label="Docs", query="https://example.org/ropes"),
    ]
    items = [
        item("codebase", "rope.py", uri={"type": "file", "value": "file:///w/rope.py"}),
        item("codebase", "bucket.py"),
        item("file", "well.py", uri={"type": "file", "value": "file:///w/well.py"}),
        item("diff", "Git Diff"),
    ]
    state = {"type": "doc", "content": [{"type": "paragraph", "content": asked}]}
    made = document(tmp_path, user("How?", editorState=state) | {"contextItems": items}, gitBranch="main")
    assert made["context"]["workspace"]["git_branch"] == "main"
    custom = made["context"]["custom"]
    assert custom["context_providers"] == [
        {"name": "codebase", "query": "where wells are dug"},
        {"name": "file", "query": "file:///w/well.py"},
        {"name": "diff", "query": "id-of-Git Diff"},
        {"name": "docs", "query": "https://example.org/ropes"},
    ]
    assert [one["name"] for one in custom["codebase_context"]] == ["rope.py", "bucket.py"]
    blocks = made["messages"][0]["content"]
    assert [block["text"] for block in blocks] == [
        *("How?", "what rope.py says", "what bucket.py says", "what well.py says", "what Git Diff says")
    ]
    assert "editorState" not in made["messages"][0]["metadata"]


def test_the_required_fields_are_there(tmp_path):
    """A session id, messages and the model's configuration."""
    found = imported(
        tmp_path,
        {
            f"sessions/{SESSION}.json": {
                "sessionId": SESSION,
                "history": [user("a"), assistant("b")],
                "chatModelTitle": "Mine",
            },
            "config.yaml": "models: [{name: Mine, provider: openai, model: gpt-5.2}]",
        },
    )
    (made,) = found.documents
    assert made["schema_version"] == "1.0.0"
    assert made["session"] == {"session_id": SESSION}
    assert made["platform"]["name"] == "continue_dev"
    assert made["platform"]["model"] == "gpt-5.2"
    assert made["platform"]["metadata"]["model_config"] == {"title": "Mine", "provider": "openai", "model": "gpt-5.2"}
    assert texts(made) == ["a", "b"]
