"""What `docs/record.md` says: its examples run against a real upstream, its commands exist, its tables are complete."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from importing import CHECKOUT
from loopback import EVENTS, JSON, Answer, Loopback, entries, event_types, streamed
from palaver.recorder.addresses import DEFAULT_PORT, Address, local_url
from palaver.recorder.upstreams import PRESETS, choose_upstreams, variables_for
from shown_commands import blocks, shown_commands, unknown_parts

PAGE = (CHECKOUT / "docs" / "record.md").read_text("utf-8")
EXAMPLES = {
    title: blocks(section, "python")
    for title, section in re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if "```python" in section
}
PRINTED = {
    "Any iterator of bytes": "event: message_start",
    "Any asynchronous iterator of bytes": "bytes",
    "httpx": "200 resp_1",
    "httpx2 and the official clients": "Good morning.",
}
"""What each example prints, at least; that of mitmproxy runs in `test_mitmproxy.py`."""
OTHER_COMMANDS = {"pip", "mitmdump"}


def answer(asked):
    if asked.path == "/v1/responses":
        return Answer(200, JSON, [b'{"id": "resp_1", "object": "response"}'])
    return streamed()


def run(example, upstream, home):
    """Run an example as a user would, with the addresses of the providers replaced by the upstream's."""
    code = example.replace('HTTPSConnection("api.anthropic.com")', f'HTTPConnection("{upstream.host}")')
    code = re.sub(r"https://api\.(?:anthropic|openai)\.com", upstream.url, code)
    environment = {
        **os.environ,
        "PALAVER_HOME": str(home),
        "ANTHROPIC_API_KEY": "no-key-at-all",
        "OPENAI_API_KEY": "no-key-at-all",
        "ANTHROPIC_BASE_URL": upstream.url,
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_there_is_one_example_of_each_way():
    assert {title: len(examples) for title, examples in EXAMPLES.items()} == dict.fromkeys([*PRINTED, "mitmproxy"], 1)


@pytest.mark.parametrize("title", PRINTED)
def test_an_example_records_what_it_shows(title, tmp_path):
    [example] = EXAMPLES[title]
    with Loopback(answer) as upstream:
        done = run(example, upstream, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert PRINTED[title] in done.stdout
    [asked] = upstream.asked
    [entry] = entries(tmp_path / "recordings")
    assert entry["request"]["body"] == json.loads(asked.body)
    assert entry["request"]["url"] == f"{upstream.url}{asked.path}"
    assert "no-key-at-all" in str(asked.headers)
    assert "no-key-at-all" not in str(entry)
    assert "error" not in entry
    if asked.path == "/v1/messages":
        assert len(event_types(entry)) == len(EVENTS)
        assert "issues" not in entry["response"]["streaming_details"]


def shape(value):
    """The names of all fields, but for those of headers and payloads."""
    if isinstance(value, dict):
        return {name: None if name in {"headers", "body", "data"} else shape(item) for name, item in value.items()}
    return [shape(value[0])] if isinstance(value, list) else None


def test_the_line_that_the_page_shows_has_the_fields_of_a_real_one(tmp_path):
    [shown] = blocks(PAGE, "json")
    with Loopback(answer) as upstream:
        run(EXAMPLES["Any iterator of bytes"][0], upstream, tmp_path)
    [entry] = entries(tmp_path / "recordings")
    assert shape(json.loads(shown)) == shape(entry)


def test_the_table_of_upstreams_is_that_of_the_program():
    for name, preset in PRESETS.items():
        [row] = re.findall(rf"^\| `{name}` \|(.*)$", PAGE, re.MULTILINE)
        assert all(f"`{variable}`" in row for variable in preset.variables)
        assert preset.url in row
        assert preset.suffix in row


def test_the_provider_of_codex_has_the_address_that_is_printed():
    [shown] = blocks(PAGE, "toml")
    [provider] = tomllib.loads(shown)["model_providers"].values()
    printed = variables_for(choose_upstreams((), {}), local_url(Address("127.0.0.1", DEFAULT_PORT)))
    assert provider["base_url"] == printed["OPENAI_BASE_URL"]


def test_every_kind_of_error_is_explained():
    sources = [
        *(CHECKOUT / "src/palaver/recorder").glob("*.py"),
        *(CHECKOUT / "src/palaver/streams").glob("exchange*.py"),
        *(CHECKOUT / "src/palaver/api").glob("*.py"),
    ]
    used = {
        kind
        for source in sources
        for kind in re.findall(
            r'"(client_aborted|timeout|recovered|recorder_\w+|upstream_\w+)"', source.read_text("utf-8")
        )
    }
    explained = set(re.findall(r"^\| `([a-z]+(?:_[a-z]+)*)` \|", PAGE.split("`error.type`")[1], re.MULTILINE))
    assert used == explained


def test_every_command_of_the_page_exists():
    lines = [each.line for block in blocks(PAGE, "console") for each in shown_commands(block)]
    shown = [shlex.split(command) for line in lines for command in line.split(" | ")]
    assert len(shown) > 6
    named = [command.split() for command in re.findall(r"`(palaver [a-z][^`]*)`", PAGE)]
    ours = [words for words in [*shown, *named] if words[0] == "palaver"]
    assert {words[0] for words in shown} - {"palaver"} == OTHER_COMMANDS
    before_command = [words[: words.index("--")] if "--" in words else words for words in ours]
    assert [unknown for words in before_command if (unknown := unknown_parts(words))] == []
