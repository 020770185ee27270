"""Compares what an import wrote with the truth that the generator told.

    python benchmarks/verify.py OUTPUT TRUTH REPORT

OUTPUT is UCS JSON Lines, TRUTH the generator's file, REPORT what `palaver import --json` printed. Each difference is
one line; the exit code is 1 if there is any.
"""

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

import github_copilot
from claude_code import TOKEN_FIELDS


def main() -> int:
    output, truth, report = (Path(argument) for argument in sys.argv[1:4])
    expected = orjson.loads(truth.read_bytes())
    told = [source["records"] for source in orjson.loads(report.read_bytes())["sources"]]
    match expected["parameters"]["platform"]:
        case "chatgpt":
            found = _in_exports(output, expected)
        case "azure_openai" | "api_trace":
            found = _in_logs(output, expected)
        case "continue_dev" | "roo_code":
            found = _in_trees(output, expected)
        case "github_copilot":
            found = github_copilot.differences(_documents(output), expected)
        case _:
            found = chain(_in_sessions(output, expected), _in_lines(told, expected))
    differences = [*found, *_in_ledger(told)]
    for difference in differences:
        print(difference)
    return 1 if differences else 0


def _in_sessions(output: Path, expected: dict[str, Any]) -> Iterator[str]:
    conversations: set[str] = set()
    usage: dict[str, list[int]] = {}
    for document in _documents(output):
        conversations.add(document["conversation_id"])
        for message in document["messages"]:
            _count(message, usage)
    yield from _difference("conversations", expected["conversations"], len(conversations))
    yield from _difference("API messages", expected["api_messages"], len(usage))
    for name, values in zip(TOKEN_FIELDS, zip(*usage.values(), strict=True), strict=False):
        yield from _difference(name, expected["tokens"][name], sum(values))


def _count(message: dict[str, Any], usage: dict[str, list[int]]) -> None:
    api_message_id = (message.get("metadata") or {}).get("api_message_id")
    if not api_message_id:
        return
    tokens = message.get("tokens") or {}
    found = [tokens.get(name) or 0 for name in TOKEN_FIELDS]
    known = usage.get(api_message_id, found)
    # A copy of a session repeats its answers: each counts once, with the greatest value of each field.
    usage[api_message_id] = [max(pair) for pair in zip(known, found, strict=True)]


def _in_exports(output: Path, expected: dict[str, Any]) -> Iterator[str]:
    conversations: set[str] = set()
    messages = tool_calls = 0
    for document in _documents(output):
        conversations.add(document["conversation_id"])
        messages += len(document["messages"])
        for message in document["messages"]:
            tool_calls += sum(block["type"] == "tool_use" for block in message["content"])
    yield from _difference("conversations", expected["conversations"], len(conversations))
    yield from _difference("messages", expected["messages"], messages)
    yield from _difference("tool calls", expected["tool_calls"], tool_calls)


def _in_logs(output: Path, expected: dict[str, Any]) -> Iterator[str]:
    conversations: set[str] = set()
    messages = 0
    tokens = dict.fromkeys(expected["tokens"], 0)
    for document in _documents(output):
        conversations.add(document["conversation_id"])
        messages += len(document["messages"])
        for message in document["messages"]:
            for name in tokens:
                tokens[name] += (message.get("tokens") or {}).get(name) or 0
    yield from _difference("conversations", expected["conversations"], len(conversations))
    yield from _difference("messages", expected["messages"], messages)
    for name, count in tokens.items():
        yield from _difference(name, expected["tokens"][name], count)


def _in_trees(output: Path, expected: dict[str, Any]) -> Iterator[str]:
    conversations: set[str] = set()
    human_messages = tool_calls = output_tokens = 0
    for document in _documents(output):
        conversations.add(document["conversation_id"])
        for message in document["messages"]:
            human_messages += message["metadata"]["author_kind"] == "human"
            tool_calls += sum(block["type"] == "tool_use" for block in message["content"])
            output_tokens += (message.get("tokens") or {}).get("output_tokens") or 0
    yield from _difference("conversations", expected["conversations"], len(conversations))
    yield from _difference("messages of people", expected["human_messages"], human_messages)
    yield from _difference("tool calls", expected["tool_calls"], tool_calls)
    yield from _difference("output_tokens", expected["tokens"]["output_tokens"], output_tokens)


def _documents(output: Path) -> Iterator[dict[str, Any]]:
    with output.open("rb") as lines:
        for line in lines:
            yield orjson.loads(line)


def _in_lines(records: list[dict[str, Any]], expected: dict[str, Any]) -> Iterator[str]:
    read = sum(record["read"] for record in records)
    # Whether a side file counts as a record is the importer's affair.
    if not expected["lines"] <= read <= expected["lines"] + expected["side_files"]:
        yield from _difference("records read", expected["lines"], read)


def _in_ledger(records: list[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        named = sum(record["skipped"].values()) + sum(record["quarantined"].values())
        yield from _difference("records accounted for", record["read"], record["mapped"] + record["folded"] + named)
        yield from _difference("records quarantined", 0, sum(record["quarantined"].values()))


def _difference(name: str, expected: int, found: int) -> Iterator[str]:
    if expected != found:
        yield f"{name}: expected {expected:,}, found {found:,}"


if __name__ == "__main__":
    sys.exit(main())
