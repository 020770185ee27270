"""The public library: what `docs/library.md` promises, and what it costs to import."""

import doctest
import re
import subprocess
import sys

import pytest

import palaver
from importing import CHECKOUT
from palaver.errors import OptionError

PAGE = (CHECKOUT / "docs" / "library.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```pycon\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
MESSAGE = {"message_id": "m", "role": "user", "content": [{"type": "text", "text": "Hi"}]}


def test_every_example_of_the_page_gives_what_it_shows(monkeypatch, tmp_path):
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path))
    assert len(EXAMPLES) >= 10
    assert len(EXAMPLES) == PAGE.count("```") // 2, "a block of another language is not run"
    names = {}
    for number, example in enumerate(EXAMPLES):
        said = []
        test = doctest.DocTestParser().get_doctest(example, names, f"example {number}", "library.md", 0)
        doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
        names = test.globs  # which the next example goes on with
        assert said == [], "".join(said)


def test_the_page_describes_every_public_name():
    assert [name for name in palaver.__all__ if name != "__version__" and f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("name", palaver.__all__)
def test_every_public_name_is_there(name):
    assert getattr(palaver, name) is not None


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = palaver.nothing


def test_importing_the_library_imports_nothing_heavy():
    code = "import sys, palaver; print([name for name in ('pydantic', 'orjson', 'msgspec') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("value", [[], None, 5, "text", [{"conversation_id": "c"}]])
@pytest.mark.parametrize("level", ["strict", "standard", "lenient"])
def test_what_is_no_object_is_invalid_and_says_so(value, level):
    result = palaver.validate(value, level)
    assert not result.valid
    assert [error for error in result.errors if "is an object" in error] == result.errors
    assert len(result.errors) == 1


@pytest.mark.parametrize("level", ["lax", "", None, []])
def test_an_unknown_level_is_refused_with_the_known_ones(level):
    with pytest.raises(OptionError, match="strict, standard, lenient"):
        palaver.validate({}, level)


def test_a_limit_of_minus_one_is_the_default_of_the_provider():
    request = palaver.compose.request("m")
    assert request == palaver.compose.request("m", max_output_tokens=-1)
    assert "max_output_tokens" not in request
    palaver.compose.set_max_output_tokens(request, 100)
    assert request["max_output_tokens"] == 100
    palaver.compose.set_max_output_tokens(request)
    assert "max_output_tokens" not in request
    for name in palaver.wire.formats():
        assert "-1" not in str(palaver.wire.wire_format(name).request_to_wire(request).payload)


@pytest.mark.parametrize(
    ("change", "window_ms", "expected"),
    [
        ({}, 0, True),
        ({"timestamp": "2025-01-01T00:00:05.000Z"}, 5000, True),
        ({"timestamp": "2025-01-01T00:00:05.001Z"}, 5000, False),
        ({"timestamp": 1735689600}, 0, True),
        ({"message_id": "other"}, 0, True),
        ({"role": "assistant"}, 5000, False),
        ({"content": [{"type": "text", "text": "Ho"}]}, 5000, False),
    ],
)
def test_duplicates_say_the_same_within_a_window(change, window_ms, expected):
    message = {**MESSAGE, "timestamp": "2025-01-01T00:00:00.000Z"}
    assert palaver.is_duplicate(message, {**message, **change}, window_ms) is expected


def test_typed_messages_have_the_hash_of_plain_ones():
    document = palaver.convert({"role": "user", "content": "Hi"}, "openai-chat", "ucs").payload
    typed = palaver.Conversation.model_validate(document).messages[0]
    assert palaver.message_hash(typed) == palaver.message_hash(document["messages"][0])
    assert palaver.is_duplicate(typed, document["messages"][0])


def test_a_conversation_gets_the_present_time_where_nothing_states_another():
    document = palaver.convert({"role": "user", "content": "Hi"}, "openai-chat", "ucs").payload
    assert palaver.validate(document).errors == []
