"""The public library: what `docs/library.md` promises, and what it costs to import."""

import ast
import doctest
import re
import shlex
import subprocess
import sys
from functools import partial

import pytest
from typer.testing import CliRunner

import palaver
from importing import CHECKOUT
from palaver.cli import app
from palaver.errors import ContentError, OptionError, PalaverError

PAGE = (CHECKOUT / "docs" / "library.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```pycon\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
RECIPES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^\$ .*$", PAGE, re.MULTILINE)
MESSAGE = {"message_id": "m", "role": "user", "content": [{"type": "text", "text": "Hi"}]}


def test_every_example_of_the_page_gives_what_it_shows(monkeypatch, tmp_path):
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path))
    for command in COMMANDS:
        program, *words = shlex.split(command.removeprefix("$ "))
        assert program == "palaver"
        assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert len(EXAMPLES) >= 20
    names = {}
    for number, example in enumerate(EXAMPLES):
        said = []
        test = doctest.DocTestParser().get_doctest(
            example.replace("…", "..."), names, f"example {number}", "library.md", 0
        )
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        runner.run(test, out=said.append, clear_globs=False)
        names = test.globs  # which the next example goes on with
        assert said == [], "".join(said)


def test_no_other_block_of_the_page_shows_what_is_not_run():
    """Recipes for other packages only have to be Python that needs nothing of palaver but the example above them."""
    assert len(EXAMPLES) + len(RECIPES) + PAGE.count("```console\n") == PAGE.count("```") // 2
    for recipe in RECIPES:
        tree = ast.parse(recipe)
        imported = [name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names]
        assert imported in (["pandas"], ["duckdb"])


def test_the_page_describes_every_public_name():
    assert [name for name in palaver.__all__ if name != "__version__" and f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("name", palaver.__all__)
def test_every_public_name_is_there(name):
    assert getattr(palaver, name) is not None


def test_completion_offers_the_public_names():
    assert sorted(dir(palaver)) == sorted(palaver.__all__)
    assert {"Archive", "read", "validate", "errors"} < set(dir(palaver))
    code = "import palaver; print(*dir(palaver))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == sorted(palaver.__all__)


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


NO_OBJECTS = [None, 5, 1.5, True, "x", b"x", [1], object()]


@pytest.mark.parametrize("value", NO_OBJECTS, ids=lambda value: type(value).__name__)
def test_a_bad_argument_is_refused_in_one_line(value):
    message = {**MESSAGE, "timestamp": "2025-01-01T00:00:00.000Z"}
    calls = [
        lambda: palaver.message_hash(value),
        lambda: palaver.is_duplicate(value, message),
        lambda: palaver.is_duplicate(message, value),
        lambda: palaver.calculate_cost(value, "claude-sonnet-4-5"),
        lambda: palaver.compose.add_message(value, "user", "x"),
        lambda: palaver.compose.add_tool(value, "f", "x", {}),
    ]
    for name in palaver.wire.formats():
        form = palaver.wire.wire_format(name)
        calls += [partial(read, value) for read in (form.request_from_wire, form.response_from_wire)]
        calls += [partial(form.error_from_wire, value)]
        calls += [partial(write, value) for write in (form.request_to_wire, form.response_to_wire)]
    for call in calls:
        with pytest.raises((PalaverError, TypeError)) as raised:
            call()
        assert str(raised.value)
        assert "\n" not in str(raised.value)


def test_what_is_missing_is_named():
    with pytest.raises(ContentError, match="a message has a role"):
        palaver.message_hash({})
    with pytest.raises(ContentError, match="a message has a timestamp"):
        palaver.is_duplicate(MESSAGE, MESSAGE)
    with pytest.raises(TypeError, match="milliseconds"):
        palaver.is_duplicate(MESSAGE, MESSAGE, "5s")
    with pytest.raises(TypeError, match="a model is a text"):
        palaver.calculate_cost({"input_tokens": 1}, 5)
    with pytest.raises(TypeError, match="input_tokens is a number"):
        palaver.calculate_cost({"input_tokens": "1"}, "claude-sonnet-4-5")
    with pytest.raises(TypeError, match="made of a text"):
        palaver.deterministic_uuid(None)
    with pytest.raises(ContentError, match="a field name must be a string, not 1"):
        palaver.convert({"messages": [], 1: 2}, "openai-chat", "gemini")


@pytest.mark.parametrize(
    "request_part",
    [
        {},
        {"messages": None},
        {"messages": [5]},
        {"messages": [{"content": []}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"text": "x"}]}]},
        {"messages": [], "system": "x"},
    ],
    ids=str,
)
def test_what_is_no_request_of_an_exchange_is_not_written(request_part):
    for name in palaver.wire.formats():
        with pytest.raises(ContentError):
            palaver.wire.wire_format(name).request_to_wire(request_part)


@pytest.mark.parametrize("response_part", [{}, {"content": []}, {"finish_reason": "stop"}, {"content": [{}]}], ids=str)
def test_what_is_no_response_of_an_exchange_is_not_written(response_part):
    for name in palaver.wire.formats():
        with pytest.raises(ContentError):
            palaver.wire.wire_format(name).response_to_wire(response_part)


def test_a_conversation_gets_a_time_of_any_form():
    message = {"role": "user", "content": "Hi"}
    for time in ("2025-01-01T00:00:00Z", 1735689600):
        document = palaver.convert(message, "openai-chat", "ucs", time=time).payload
        assert document["created_at"] == "2025-01-01T00:00:00.000Z"
    with pytest.raises(OptionError, match="time: 'noon' is not a timestamp"):
        palaver.convert(message, "openai-chat", "ucs", time="noon")
