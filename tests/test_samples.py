"""Real and near-real files of many tools, kept outside of the repository: what is claimed must come through whole."""

import io
import json
import os
from collections import Counter
from pathlib import Path

import ijson
import pytest

from importing import (
    CHECKOUT,
    TOKENS,
    Imported,
    Usage,
    check,
    files_of,
    import_folder,
    lost_blocks,
    lost_texts,
    records_of,
    reference_validator,
    token_counts,
)
from palaver.importers import importer, match_importers, platforms
from palaver.model.report import Report
from palaver.sources.arrays.splitter import ArrayElements, elements_path
from palaver.sources.source import Source
from palaver.workflows.validate import ValidationSettings

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples")

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES} (PALAVER_SAMPLES names another folder)"
)

FOLDERS = {
    "github_copilot": ("copilot",),
    "api_trace": ("claude_trace",),
    # Cowork's sessions and audit logs are lines of Claude Code, until they have a platform name of their own.
    "claude_code": ("claude_code", "claude_cowork"),
}
"""Sample folders of platforms that have another name or several; the first one holds nothing but the platform's."""
OF_OTHERS = {
    "claude_code/ccusage/fixtures/codex/sessions/project-alpha/session-alpha.jsonl": "a rollout of Codex",
    "claude_code/claude-replay/docs/demo-session.jsonl": "turns as claude-replay writes them itself",
    "claude_code/claude-replay/test/e2e/fixture-paced-wording.jsonl": "a transcript of Cursor's agent",
    "claude_code/claude-replay/test/fixture-paced.jsonl": "a transcript of Cursor's agent",
    "chatgpt/model-comparisons-2023/message_feedback.json": "ratings of messages that are not there",
    "chatgpt/openwebui-importer/invalid_unicode.json": "texts without any word of who said them",
    "azure_openai/synthetic-llm-log-chunked/facts.json": "what there is to find beside it",
    "azure_openai/vcr-cassettes/test_azure_answer_webrtc_offer_records.yaml": "a cassette of a test library",
    "azure_openai/vcr-cassettes/test_azure_responses_reasoning_context_default_wire_contract[gpt-5.4].yaml": "one",
    "azure_openai/vcr-cassettes/test_azure_responses_reasoning_context_default_wire_contract[gpt-5.6-sol].yaml": "one",
    "claude_trace/synthetic-stream-merge/facts.json": "what there is to find beside it",
    "copilot/synthetic-vscode-mutation-log/facts.json": "what there is to find beside it",
    "copilot/synthetic-vscode-mutation-log/workspaceStorage/8f1e2d3c4b5a69788796a5b4c3d2e1f0/workspace.json": "side",
    **{
        f"roo_code/hierarchy-mixed/controlled-hierarchy/{task}/api_history.jsonl": "a file that no product writes"
        for task in (
            *("03deadab-a06d-4b29-976d-3cc142add1d9", "305b3f90-e0e1-4870-8cf4-4fd33a08cfa4", "leaf_b1a-test-id"),
            *("38948ef0-4a8b-40a2-ae29-b38d2aa9d5a7", "91e837de-a4b2-4c18-ab9b-6fcd36596e38", "leaf_b1b-test-id"),
        )
    },
}


@pytest.fixture(scope="module")
def imported() -> Imported:
    return import_folder(SAMPLES)


# -- what is read ---------------------------------------------------------------------------------------------------


def test_every_claimed_unit_is_read_to_its_end(imported):
    assert imported.units
    assert not imported.found.refused
    check(imported)


def test_the_exit_code_tells_whether_something_was_set_aside(imported):
    for report in imported.reports:
        assert Report([report]).exit_code == (1 if report.ledger.quarantined else 0), report


def test_both_validators_accept_every_document(imported):
    faults = [
        f"{document['conversation_id']}: {error.json_path}: {error.message}"
        for document in imported.documents
        for error in reference_validator().iter_errors(document)
    ]
    assert not faults


def test_no_document_is_an_error_by_the_rules_of_validate(imported):
    judge = ValidationSettings().new_judge()
    said = [(document, verdict) for document in imported.documents for verdict in judge.judge(document)]
    assert judge.close() == []
    assert [
        (document["platform"]["name"], document["conversation_id"], verdict)
        for document, verdict in said
        if verdict.severity == "error"
    ] == []


def test_content_survives(imported):
    lost = {}
    for one in imported.one_by_one():
        files = files_of(one.units[0])
        if texts_or_blocks := [*lost_texts(one, files), *sorted(lost_blocks(one, files))]:
            lost[relative(one.units[0].source.label)] = texts_or_blocks
    assert not lost


@pytest.mark.parametrize("chunk_bytes", [4_096, 1 << 20])
def test_elements_of_every_array_are_those_of_ijson(chunk_bytes):
    """Two independent readers of huge arrays agree on every sample that is one."""
    compared = 0
    for path in sample_files():
        raw = path.read_bytes()
        prefix = elements_path(raw[: 1 << 16]) if path.suffix == ".json" else None
        if prefix is None:
            continue
        try:
            wanted = list(ijson.items(io.BytesIO(raw), ".".join([*prefix, "item"]), use_float=True))
        except ijson.JSONError:
            continue  # damaged, or with half a surrogate pair, which ijson refuses
        found = list(ArrayElements(io.BytesIO(raw), prefix, chunk_bytes=chunk_bytes))
        # Half of a surrogate pair is an error to us and a question mark to ijson.
        pairs = [(element, value) for element, value in zip(found, wanted, strict=True) if element.error is None]
        assert all(element.value == json.loads(element.raw) == value for element, value in pairs), path
        assert len(found) - len(pairs) <= 1, path
        compared += 1
    assert compared > 40


# -- numbers --------------------------------------------------------------------------------------------------------


def test_tokens_are_those_of_the_sources_counted_once(imported):
    """One API answer stands on several lines, and in several files: it counts once, with its greatest numbers."""
    stated, told = Usage(), Usage()
    without_id = Counter()
    for path in sample_files("claude_code"):
        raw = path.read_bytes()
        stated.add_stated(raw)
        without_id += unnamed_usage(raw)
    for one in imported.one_by_one():
        if relative(one.units[0].source.label).startswith("claude_code/"):
            told.add_told(one.documents)
    told.add_used([record for record in imported.used if record["platform"]["name"] == "claude_code"])
    assert len(stated.best) > 600
    assert stated.best == told.best
    assert without_id == told.unnamed != Counter()


def unnamed_usage(raw: bytes) -> Counter[str]:
    """What lines say that name no API message: each of them counts."""
    total = Counter()
    for record in records_of(raw):
        match record.get("message"):
            case {"usage": dict(usage), **message} if "id" not in message and message.get("model") != "<synthetic>":
                total += token_counts(usage)
            case _:
                pass
    return total


def test_metrics_are_the_sum_of_the_messages(imported):
    for one in imported.one_by_one():
        sums: dict[str, Counter[str]] = {}
        for document in one.documents:
            tokens = sums.setdefault(document["conversation_id"], Counter())
            for message in document["messages"]:
                usage = message.get("tokens") or {}
                tokens.update({name: usage.get(field) or 0 for field, name in TOKENS.items()})
            if document.get("fragment", {"final": True})["final"]:
                totals = Counter(document["metrics"].get("total_tokens", {}))
                assert {name: totals[name] for name in TOKENS.values()} == {
                    name: tokens[name] for name in TOKENS.values()
                }, document["conversation_id"]


# -- what is recognized ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", platforms())
def test_files_of_other_platforms_are_not_claimed(platform):
    """A `maybe` is for files without any mark of their maker; it can only be for the format's own kind of file."""
    own = FOLDERS.get(platform, (platform,))
    others = [path for path in sample_files() if path.relative_to(SAMPLES).parts[0] not in own]
    verdicts = {path: importer(platform).recognizes(Source.at(path)) for path in others}
    assert {relative(path): match.reason for path, match in verdicts.items() if match.verdict == "yes"} == {}
    own_suffixes = {path.suffix for path in sample_files(own[0])}
    assert {
        relative(path): match.reason
        for path, match in verdicts.items()
        if match.verdict == "maybe" and path.suffix not in own_suffixes
    } == {}


@pytest.mark.parametrize("platform", platforms())
def test_every_sample_of_a_platform_is_claimed(imported, platform):
    """Everything in a platform's folder is read, but for empty files, command texts, and those that are of others."""
    own = FOLDERS.get(platform, (platform,))[0]
    unread = {
        relative(path)
        for path in sample_files(own)
        if str(path) not in read_files(imported) and path.read_bytes().strip() and path.suffix != ".md"
    }
    assert unread == {name for name in OF_OTHERS if name.startswith(f"{own}/")}


def read_files(imported: Imported) -> set[str]:
    """The files that are read, a ZIP as a whole."""
    return {name.split("!")[0] for one in imported.one_by_one() for name in files_of(one.units[0])}


def test_every_sample_is_read_or_listed(imported, record_property):
    read = read_files(imported)
    listed = {label.split("!")[0] for label in imported.found.unclaimed}
    others = [path for path in sample_files() if str(path) not in read | listed]
    # A file that an importer knows to be no conversation is neither.
    assert {
        relative(path) for path in others if not any(one.reason for one in match_importers(Source.at(path)).values())
    } == set()
    assert {relative(name) for name in read & listed} == set()
    counts = Counter(relative(label).split("/")[0] for label in listed)
    folders = ", ".join(f"{folder} {count}" for folder, count in sorted(counts.items()))
    record_property("summary", f"samples that no importer reads: {folders}")
    record_property("unclaimed", sorted(relative(label) for label in listed))


def sample_files(folder: str = "") -> list[Path]:
    return sorted(path for path in (SAMPLES / folder).rglob("*") if path.is_file())


def relative(path: Path | str) -> str:
    return Path(path).relative_to(SAMPLES).as_posix()
