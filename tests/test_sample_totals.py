"""Token totals of real Claude Code files, against a count that shares nothing with palaver but the files.

The counter below reads with the standard library alone. An answer is an object with an id and its usage: the message of
an `assistant` line, also inside a progress line of an agent, also the beginning of a stream. Each id counts once over
all files, with the greatest figure of each kind; an `assistant` line whose message has no id counts by its uuid, once.
What counts nothing, by the format's own rules: words of the product (`<synthetic>`), and the usage of a tool result or
of a whole run, which repeats what its answers say. Agents that were started to warm up count like any other.

Some samples are written by hand and call their lines a1, a2 and so on, in one session over and over. No two lines of
the world's real files share an id, so two such files contradict each other in one archive: each is compared alone.
"""

import json
import os
import re
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from archiving import keep_folder
from importing import CHECKOUT
from palaver.archive.connection import open_to_read
from palaver.archive.statistics import statistics
from palaver.archive.tally import GROUPINGS
from palaver.archive.usage import Scope
from palaver.prices import Prices

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "claude_code"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")

FIGURES = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
    "thinking_tokens": "thinking",
}


class Count:
    """Usage by what it is counted once by."""

    def __init__(self):
        self.greatest = {}

    def add_file(self, path):
        records = list(objects(read(path)))
        began = None
        for number, record in enumerate(records):
            message = record.get("message")
            if record.get("type") == "assistant" and isinstance(message, dict) and not message.get("id"):
                self.add(message, record.get("uuid") or (path, number))
            for value in nested(record):
                if isinstance(value.get("id"), str) and value.get("role") != "user":
                    self.add(value, value["id"])
                elif value.get("type") == "message_start":
                    began = value["message"]
                elif value.get("type") == "message_delta" and began:
                    self.add({**began, "usage": value.get("usage")}, began["id"])

    def add(self, message, key):
        usage = message.get("usage")
        if isinstance(usage, dict) and message.get("model") != "<synthetic>":
            figures = Counter(
                {name: usage[figure] for figure, name in FIGURES.items() if type(usage.get(figure)) is int}
            )
            self.greatest[key] = self.greatest.get(key, Counter()) | figures

    def total(self):
        return sum(self.greatest.values(), Counter())


def read(path):
    return path.read_bytes().decode("utf-8-sig", "replace").replace("\0", "")


def objects(text):
    """JSON objects, a line each or one after the other; what is damaged ends at the next line."""
    decoder = json.JSONDecoder()
    if re.match(r"\s*\[?\s*\{\s*\n", text):
        text = re.sub(r"^\s*\[", "", text)
        lines = [text]
    else:
        lines = text.split("\n")
    for line in lines:
        position = 0
        while begin := re.compile(r"[\s,]*(?=\{)").match(line, position):
            try:
                value, position = decoder.raw_decode(line, begin.end())
            except (ValueError, RecursionError):
                break
            yield value


def nested(value):
    """Every object in an object, itself included."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def is_hand_made(path):
    """Whether any answer stands on a line whose id is none that a machine gave it."""
    ids = (record.get("uuid") for record in objects(read(path)) if record.get("type") == "assistant")
    return any(isinstance(uuid, str) and not re.fullmatch(r"[0-9a-f-]{36}", uuid) for uuid in ids)


FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
HAND_MADE = [path for path in FILES if path.suffix == ".jsonl" and is_hand_made(path)]


@pytest.fixture(scope="module")
def counted():
    count = Count()
    for path in FILES:
        if path not in HAND_MADE:
            count.add_file(path)
    return count


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    shutil.copytree(SAMPLES, folder / "source", ignore=lambda at, names: {n for n in names if Path(at, n) in HAND_MADE})
    keep_folder(folder / "source", folder / "archive.db")
    with closing(open_to_read(folder / "archive.db")) as connection:
        yield connection


def figures(tokens):
    return Counter({name: getattr(tokens, name) for name in FIGURES.values() if getattr(tokens, name)})


def test_totals_are_those_of_an_independent_count(archive, counted):
    total = statistics(archive, Scope(), "day", Prices()).total
    assert len(counted.greatest) > 600
    assert figures(total.tokens) == counted.total()
    assert total.answers == len(counted.greatest)


@pytest.mark.parametrize("path", HAND_MADE, ids=lambda path: path.relative_to(SAMPLES).as_posix())
def test_totals_of_a_file_by_itself(tmp_path, path):
    count = Count()
    for file in (path, *path.with_suffix("").rglob("*.jsonl")):  # a session, and its agents' files beside it
        count.add_file(file)
    keep_folder(path, tmp_path / "archive.db")
    with closing(open_to_read(tmp_path / "archive.db")) as connection:
        assert figures(statistics(connection, Scope(), "day", Prices()).total.tokens) == count.total()


@pytest.mark.parametrize("by", [by for by in GROUPINGS if by != "tool"])
def test_the_groups_add_up_to_the_total(archive, by):
    found = statistics(archive, Scope(), by, Prices())
    assert sum((figures(group.tokens) for group in found.groups.values()), Counter()) == figures(found.total.tokens)
    assert sum(group.answers for group in found.groups.values()) == found.total.answers
