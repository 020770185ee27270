"""What every command promises to programs: a published answer with `--json`, and exit codes that are documented.

`invocations/<command>.toml` is the table that drives it, one file a command. `words` follow the command; `files` are
written and the commands of `before` are run first; `{fixtures}` is the folder of that name, `{here}` an empty one with
a `home` in it, `{python}` the interpreter; `is_answered = false` where nothing is printed since nothing could be done.
`--json` is added, before any `--`.
"""

import json
import subprocess
import sys
import tomllib
from functools import reduce
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest

from palaver.cli._reference import commands
from palaver.model import json_output
from palaver.model.schemas import answer_schema, published_kinds, published_schema

ROOT = Path(__file__).parents[2]
COMMANDS = {command.name: command for command in commands()}
INVOCATIONS = {
    file.stem.replace("-", " "): tomllib.loads(file.read_text("utf-8"))
    for file in sorted((ROOT / "tests" / "cli" / "invocations").glob("*.toml"))
}
CASES = [
    pytest.param(command, invocation, id=f"{command}-{name}")
    for command, table in INVOCATIONS.items()
    for name, invocation in table.items()
]
ANSWERING = [command.name for command in COMMANDS.values() if command.has_json]


@pytest.fixture
def invoke(run, tmp_path):
    def words_of(words):
        places = {"{fixtures}": str(ROOT / "fixtures"), "{here}": str(tmp_path), "{python}": sys.executable}
        return [reduce(lambda text, name: text.replace(name, places[name]), places, word) for word in words]

    def invoked(command, invocation):
        for name, text in invocation.get("files", {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(text.encode())
        for words in invocation.get("before", []):
            earlier = run(*words_of(words))
            assert earlier.exit_code in {0, 1}, earlier.stderr
        words = words_of(invocation["words"])
        if COMMANDS[command].has_json:
            words.insert(words.index("--") if "--" in words else len(words), "--json")
        return run(*command.split(), *words)

    return invoked


@pytest.mark.parametrize(("command", "invocation"), CASES)
def test_a_command_exits_as_it_should_and_answers_as_published(invoke, command, invocation):
    result = invoke(command, invocation)
    assert result.exit_code == invocation["exit_code"], result.stderr
    if not invocation.get("is_answered", True):
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr
    elif COMMANDS[command].has_json:
        answer = json.loads(result.stdout)
        schema = published_schema(json_output.schema_kind(command))
        jsonschema.Draft202012Validator(schema).validate(answer)
        jsonschema_rs.validator_for(schema).validate(answer)
        read = json_output.answer_model(command).model_validate(answer)
        assert read.model_dump(mode="json", exclude_unset=True) == answer
        if "refused" in answer:
            assert bool(answer["refused"]) == (result.exit_code == 2), "what could not be done is told"


@pytest.mark.parametrize("command", ANSWERING)
def test_every_command_with_json_has_a_published_answer(command):
    assert json_output.schema_kind(command) in published_kinds(), (
        "add its model to src/palaver/model/json_output/ and run `make docs`"
    )
    assert published_schema(json_output.schema_kind(command)) == answer_schema(command), "run `make docs`"
    answered = [name for name, entry in INVOCATIONS[command].items() if entry.get("is_answered", True)]
    assert answered, "no invocation is answered"


def test_no_answer_is_without_its_command():
    assert json_output.commands() == sorted([*ANSWERING, "home"]), "`palaver` alone answers too: tests/cli/test_home.py"
    assert set(published_kinds()) - {"conversation", "exchange", "cooked", "usage"} == set(
        map(json_output.schema_kind, json_output.commands())
    )


def test_there_are_invocations_of_every_command_and_of_no_other():
    assert sorted(INVOCATIONS) == sorted(COMMANDS), "write tests/cli/invocations/<command>.toml"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_documented_exit_codes_are_those_that_are_tested(command):
    documented = COMMANDS[command].exit_codes
    assert {entry["exit_code"] for entry in INVOCATIONS[command].values()} == documented.keys()
    assert documented.keys() <= {0, 1, 2}


@pytest.mark.parametrize("command", ANSWERING)
def test_answers_are_closed_and_every_field_is_described(command):
    schema = published_schema(json_output.schema_kind(command))
    jsonschema.Draft202012Validator.check_schema(schema)
    documents = published_schema("conversation")["$defs"].keys() | {"Conversation"}
    for name, part in {"the answer": schema, **schema["$defs"]}.items():
        if name not in documents:
            assert part["additionalProperties"] is False, name
            for field, value in part["properties"].items():
                assert "description" in value or "$ref" in value, (name, field)


def test_a_published_answer_is_read_without_pydantic():
    program = """
import sys
from palaver.model.schemas import published_kinds, published_schema
assert published_schema("import-answer")["$id"].startswith("urn:palaver:schema:import-answer:"), published_kinds()
assert "pydantic" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT / "src")
