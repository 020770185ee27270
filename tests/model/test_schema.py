import copy
import functools
import importlib.util
import json
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from palaver.errors import VersionError
from palaver.model import SCHEMA_VERSION, blocks, conversation, schemas
from palaver.model.conversation import Conversation
from palaver.model.schema_markdown import schema_tables
from palaver.model.schemas import conversation_schema, published_kinds, published_schema

ROOT = Path(__file__).parents[2]
SCHEMA = conversation_schema()
FAST = jsonschema_rs.validator_for(SCHEMA)
REFERENCE = jsonschema.Draft202012Validator(SCHEMA)
TIME = "2025-01-02T03:04:05.678Z"
MINIMAL = {
    "schema_version": "1.0.0",
    "conversation_id": "c1",
    "platform": {"name": "claude_code"},
    "created_at": TIME,
    "messages": [
        {"message_id": "m1", "role": "user", "timestamp": TIME, "content": [{"type": "text", "text": "hello"}]}
    ],
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@functools.cache
def definition_values(reference, depth):
    return values_of(SCHEMA["$defs"][reference.rpartition("/")[2]], depth)


def values_of(schema, depth):
    """Values that a schema of ours allows; blocks hold blocks until the depth is used up."""
    match schema:
        case {"$ref": str(reference)}:
            return st.deferred(lambda: definition_values(reference, depth))
        case {"const": value}:
            return st.just(value)
        case {"enum": values}:
            return st.sampled_from(values)
        case {"anyOf": branches}:
            return st.one_of([values_of(branch, depth) for branch in branches])
        case {"type": [kind, "null"]}:
            return st.none() | values_of({**schema, "type": kind}, depth)
        case {"type": "null"}:
            return st.none()
        case {"type": "object", "properties": properties}:
            return objects_of(properties, schema.get("required", []), depth)
        case {"type": "object"}:
            return st.dictionaries(texts, json_values, max_size=2)
        case {"type": "array", "items": items}:
            least = schema.get("minItems", 0)
            most = max(least, min(depth, 2))
            return st.lists(values_of(items, depth - 1), min_size=least, max_size=most) if most else st.just([])
        case {"type": "string", "pattern": pattern}:
            return st.from_regex(pattern.replace("$", r"\Z").replace("]+", "]{1,8}"))
        case {"type": "string"}:
            return texts.filter(len) if "minLength" in schema else texts
        case {"type": "integer" | "number" as kind}:
            least, most = schema.get("minimum", -(2**53)), schema.get("maximum", 2**53)
            return st.integers(least, most) | (st.floats(least, most) if kind == "number" else st.just(float(most)))
        case {"type": "boolean"}:
            return st.booleans()
        case _:
            return json_values


def objects_of(properties, required, depth):
    fields = {name: values_of(field, depth) for name, field in properties.items()}
    known = st.fixed_dictionaries(
        {name: fields[name] for name in required},
        optional={name: field for name, field in fields.items() if name not in required},
    )
    extra = st.dictionaries(texts.filter(lambda name: name not in properties), json_values, max_size=1)
    return st.builds(lambda known, extra: {**known, **extra}, known, extra)


documents = values_of(SCHEMA, 3)


@st.composite
def mutated_documents(draw):
    document = copy.deepcopy(draw(documents))
    for _ in range(draw(st.integers(1, 2))):
        holder, key = draw(st.sampled_from(list(places(document)) or [(document, "conversation_id")]))
        old = holder[key] if isinstance(holder, list) else holder.get(key)
        changes = ["replace", "delete", "number"] + (["newline", "shorten"] if isinstance(old, str) else [])
        match draw(st.sampled_from(changes)):
            case "replace":
                holder[key] = draw(json_values)
            case "number":
                holder[key] = draw(st.sampled_from([-1, 0, 0.5, 1.0, -0.0, 5.5, 2**63, 1e300, True]))
            case "newline":
                holder[key] = old + "\n"
            case "shorten":
                holder[key] = old[:-1]
            case _:
                holder.pop(key, None) if isinstance(holder, dict) else holder.pop(key)
    return document


def places(value):
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def is_model_valid(document):
    try:
        Conversation.model_validate(document)
    except ValidationError:
        return False
    return True


def lacks_is_error(document):
    values = [holder[key] for holder, key in places(document)]
    results = [value for value in values if isinstance(value, dict) and value.get("type") == "tool_result"]
    return any("is_error" not in result for result in results)


unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(documents)
def test_law_both_validators_and_the_models_accept_valid_documents(document):
    FAST.validate(document)
    REFERENCE.validate(document)
    Conversation.model_validate(document)


@unhurried
@given(documents)
def test_law_reading_and_dumping_gives_the_same_document(document):
    assert Conversation.model_validate(document).model_dump(exclude_unset=True) == document


@settings(unhurried, max_examples=500)
@given(mutated_documents())
def test_law_both_validators_and_the_models_agree_on_mutated_documents(document):
    valid = FAST.is_valid(document)
    assert valid == REFERENCE.is_valid(document)
    assert valid == is_model_valid(document) or lacks_is_error(document)


def with_change(path, value):
    document = copy.deepcopy(MINIMAL)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return document


BLOCK = ("messages", 0, "content", 0)
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "", "is_error": False}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("messages",), []),
        (("title",), None),
        (("status",), None),
        (("surprise",), {"kept": True}),
        (("platform", "name"), "x"),
        (("platform", "version"), None),
        (("schema_version",), "12.34.56"),
        (("messages", 0, "tokens"), {"input_tokens": None, "output_tokens": 3.0, "service_tier": "batch"}),
        (("messages", 0, "metadata"), {"author_kind": "harness", "gitBranch": "main", "hidden": None}),
        (("fragment",), {"sequence": 0, "final": False}),
        (BLOCK, {"type": "text", "text": "", "citations": [{"any": "thing"}]}),
        (BLOCK, {"type": "thinking", "thinking": ""}),
        (BLOCK, {"type": "opaque", "kind": "x", "raw": None}),
        (BLOCK, {"type": "file", "name": "a.pdf"}),
        (BLOCK, {**RESULT, "content": []}),
        (BLOCK, {**RESULT, "content": [{**RESULT, "content": [{"type": "text", "text": "deep"}]}]}),
        (BLOCK, {**RESULT, "metadata": {"duration_ms": 1.5, "exit_code": -9, "other": 1}}),
    ],
)
def test_documents_that_must_pass(path, value):
    document = with_change(path, value)
    FAST.validate(document)
    assert REFERENCE.is_valid(document)
    assert is_model_valid(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), "1.0"),
        (("schema_version",), "1.0.0\n"),
        (("schema_version",), "\uff11.0.0"),
        (("schema_version",), "1.0." + "0" * 40),
        (("conversation_id",), ""),
        (("platform",), {}),
        (("platform", "name"), "Claude Code"),
        (("platform", "name"), "claude_code\n"),
        (("created_at",), "2025-01-02T03:04:05Z"),
        (("created_at",), TIME + "\n"),
        (("created_at",), None),
        (("status",), "paused"),
        (("tags",), [1]),
        (("rating",), {"score": 5.5}),
        (("fragment",), {"sequence": 0}),
        (("metrics",), {"total_cost": {"amount": -1}}),
        (("summaries",), [{"summary_id": "s", "type": "other", "text": "", "timestamp": TIME}]),
        (("messages", 0, "message_id"), ""),
        (("messages", 0, "role"), "developer"),
        (("messages", 0, "content"), []),
        (("messages", 0, "content"), "hello"),
        (("messages", 0, "tokens"), {"input_tokens": -1}),
        (("messages", 0, "tokens"), {"input_tokens": True}),
        (("messages", 0, "metadata"), {"author_kind": "robot"}),
        (("messages", 0, "metadata"), {"source_ids": [1]}),
        (BLOCK, {"type": "image_url"}),
        (BLOCK, {"text": "hello"}),
        (BLOCK, {"type": "text", "text": None}),
        (BLOCK, {"type": "code", "code": "", "line_range": {"start": 0}}),
        (BLOCK, {"type": "image", "source": {"type": "base64", "media_type": "image/png"}}),
        (BLOCK, {"type": "tool_use", "id": "t", "name": "n", "input": "text"}),
        (BLOCK, {**RESULT, "is_error": None}),
        (BLOCK, {**RESULT, "content": [{"type": "unknown"}]}),
        (BLOCK, {"type": "opaque", "kind": "", "raw": 1}),
        (BLOCK, {"type": "opaque", "kind": "x"}),
    ],
)
def test_documents_that_must_not_pass(path, value):
    document = with_change(path, value)
    assert not FAST.is_valid(document)
    assert not REFERENCE.is_valid(document)
    assert not is_model_valid(document)


def test_integers_stay_integers():
    document = with_change(("metrics",), {"total_cost": {"amount": 2**60 + 1}, "tool_calls": 3})
    document["rating"] = {"score": 5}
    dumped = Conversation.model_validate(document).model_dump(exclude_unset=True)
    assert json.dumps(dumped["metrics"]) == json.dumps(document["metrics"])
    assert json.dumps(dumped["rating"]) == '{"score": 5}'


def test_written_documents_state_is_error_and_read_ones_may_leave_it_out():
    document = with_change(BLOCK, {"type": "tool_result", "tool_use_id": "t", "content": ""})
    assert not FAST.is_valid(document)
    assert Conversation.model_validate(document).messages[0].content[0].is_error is False


def test_the_schema_is_a_valid_schema_with_an_address():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema_rs.meta.validate(SCHEMA)
    assert list(SCHEMA) == ["$schema", "$id", "title", "description", "type", "properties", "required", "$defs"]
    assert SCHEMA["$id"] == "urn:palaver:schema:conversation:1.0.0"


def test_the_schema_has_no_noise():
    keywords = {
        key
        for holder, key in places(SCHEMA)
        if isinstance(key, str) and not any(holder is properties for properties in property_maps(SCHEMA))
    }
    assert not keywords & {"default", "discriminator", "format", "additionalProperties", "oneOf", "ge"}


def property_maps(value):
    for holder, key in places(value):
        if key in {"properties", "$defs"} and isinstance(holder[key], dict):
            yield holder[key]


def test_every_field_is_described():
    for module in (blocks, conversation):
        for model in vars(module).values():
            if isinstance(model, type) and issubclass(model, BaseModel) and model.__module__ == module.__name__:
                assert all(field.description for field in model.model_fields.values()), model


def test_the_committed_schema_is_the_generated_one():
    assert published_schema("conversation", SCHEMA_VERSION) == SCHEMA
    assert published_schema("conversation") == SCHEMA


def test_what_is_not_published_is_refused_with_what_is():
    assert "conversation" in published_kinds()
    with pytest.raises(VersionError, match=r"'weather'.*conversation"):
        published_schema("weather")
    with pytest.raises(VersionError, match=r"'9\.9\.9'.*1\.0\.0"):
        published_schema("conversation", "9.9.9")
    with pytest.raises(VersionError, match="is published"):
        published_schema("..")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package folder of its own, and no checkout around it."""
    monkeypatch.setattr("importlib.resources.files", lambda _package: tmp_path)
    monkeypatch.setattr(schemas, "__file__", str(tmp_path / "a" / "b" / "c" / "schemas.py"))
    return tmp_path / "schema"


def test_an_installed_package_reads_its_own_files(installed):
    for version in ("1.9.0", "1.10.0", "0.1.0"):
        file = installed / "exchange" / f"{version}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{{"title": "{version}"}}', "utf-8")
    (installed / "exchange" / "README.md").touch()
    (installed / "empty").mkdir()
    assert published_kinds() == ["exchange"]
    assert published_schema("exchange") == {"title": "1.10.0"}
    assert published_schema("exchange", "1.9.0") == {"title": "1.9.0"}


@pytest.mark.usefixtures("installed")
def test_without_any_file_nothing_is_published():
    assert published_kinds() == []
    with pytest.raises(VersionError, match="there are: none"):
        published_schema("conversation")


def test_the_tables_name_every_model_and_field():
    tables = schema_tables()
    for name, definition in {"Conversation": SCHEMA, **SCHEMA["$defs"]}.items():
        section = tables.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert definition["description"] in section
        for field, value in definition.get("properties", {}).items():
            assert f"\n| `{field}` | " in section
            assert value["description"] in section


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("Conversation", "| `messages` | array of [Message](#message) | yes |"),
        ("Conversation", "| `conversation_id` | non-empty string | yes |"),
        ("Conversation", "| `updated_at` | UTC time `YYYY-MM-DDTHH:MM:SS.mmmZ` |  |"),
        ("Conversation", "| `status` | `active`, `completed`, `archived`, `error` |  |"),
        ("Platform", "| `name` | string `^[a-z][a-z0-9_]*$` | yes |"),
        ("Message", "| `content` | non-empty array of [Block](#block) | yes |"),
        ("ToolResultBlock", "| `content` | string or array of [Block](#block) | yes |"),
        ("TextBlock", "| `type` | `text` | yes |"),
        ("OpaqueBlock", "| `raw` | any JSON value | yes |"),
        ("LineRange", "| `start` | integer ≥ 1 |  |"),
        ("Rating", "| `score` | number ≥ 0, ≤ 5 |  |"),
        ("Block", "* [ToolUseBlock](#tooluseblock)"),
    ],
)
def test_shapes_are_told_in_words(model, row):
    assert f"\n{row}" in schema_tables().split(f"\n## {model}\n")[1].split("\n## ")[0]


@pytest.fixture
def builder(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_files_are_committed_as_generated(builder):
    assert {
        "schema/conversation/1.0.0.json",
        "schema/import-answer/1.1.0.json",
        "docs/schema.md",
    } <= builder.GENERATED.keys()
    assert builder.stale(ROOT) == [], "run `make docs`"


def test_the_reference_is_the_same_on_every_machine(builder, monkeypatch, tmp_path):
    page = builder.GENERATED["docs/cli.md"]()
    for name, value in (("COLUMNS", "20"), ("TERMINAL_WIDTH", "20"), ("FORCE_COLOR", "1"), ("LC_ALL", "de_DE.UTF-8")):
        monkeypatch.setenv(name, value)
    for name in ("HOME", "USERPROFILE", "PALAVER_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert builder.GENERATED["docs/cli.md"]() == page


def test_the_builder_writes_and_names_the_stale(builder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(builder, "GENERATED", {"docs/a.md": lambda: "a\n", "schema/b.json": lambda: "{}\n"})
    assert builder.main(["--check"], tmp_path) == 1
    assert builder.main([], tmp_path) == 0
    assert builder.main(["--check"], tmp_path) == 0
    capsys.readouterr()
    (tmp_path / "docs" / "a.md").write_text("other\n", "utf-8")
    assert builder.main(["--check"], tmp_path) == 1
    told = capsys.readouterr().err
    assert "docs/a.md is stale" in told
    assert "schema/b.json" not in told
    assert builder.main(["--chekc"], tmp_path) == 2
