"""What the tests of every importer share: fixture cases, an import as a value, its golden form, an oracle of content.

The oracle reads sources on its own (the standard library's json, no palaver code), so that it cannot share a mistake
with the readers it judges.
"""

import csv
import io
import json
import os
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs

from palaver.importers import importer, platforms
from palaver.model.report import Report, SourceReport
from palaver.sources.discovery import Unit
from palaver.sources.run import Quarantined
from palaver.sources.source import Source
from palaver.validation.schema import is_valid
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines
from palaver.workflows.outputs import json_line

Json = dict[str, Any]

CHECKOUT = Path(__file__).parents[1]
FIXTURES = Path(os.environ.get("PALAVER_FIXTURES") or CHECKOUT / "fixtures")
FIXED_TIME = 1_767_225_600
"""The time of every fixture file, 2026-01-01T00:00:00Z: messages without any time fall back to it."""


# -- cases ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    platform: str
    folder: Path

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def expected(self) -> Path:
        return self.folder / "expected.jsonl"

    def __str__(self) -> str:
        return f"{self.platform}/{self.folder.name}"

    def files(self) -> dict[str, bytes]:
        """The source's files by their relative names."""
        return {
            path.relative_to(self.source).as_posix(): path.read_bytes()
            for path in sorted(self.source.rglob("*"))
            if path.is_file()
        }

    def lay_out(self, folder: Path) -> Path:
        """Copy the source to a place where its times are known, and return its new folder."""
        target = folder / "source"
        shutil.copytree(self.source, target)
        for path in target.rglob("*"):
            set_time(path)
        return target


def cases(fixtures: Path = FIXTURES) -> list[Case]:
    """Every fixture folder of every registered platform."""
    return [
        Case(platform, folder)
        for platform in platforms()
        if (fixtures / platform).is_dir()
        for folder in sorted((fixtures / platform).iterdir())
        if folder.is_dir()
    ]


def set_time(path: Path) -> None:
    os.utime(path, (FIXED_TIME, FIXED_TIME))


# -- importing ------------------------------------------------------------------------------------------------------


@dataclass
class Imported:
    """One import of the units below a folder, unit by unit."""

    root: Path
    units: list[Unit]
    lines: list[list[bytes]]
    reports: list[SourceReport]
    quarantined: list[Quarantined]
    found: Report = field(default_factory=Report)
    used: list[Json] = field(default_factory=list[Json])
    """Usage records."""

    @cached_property
    def documents(self) -> list[Json]:
        return [json.loads(line) for unit in self.lines for line in unit]

    @property
    def report(self) -> Report:
        return Report(self.reports, self.found.unclaimed, refused=self.found.refused)

    def skipped_rules(self) -> set[str]:
        return {rule for report in self.reports for rule in report.ledger.skipped}

    def one_by_one(self) -> "Iterator[Imported]":
        """Each unit as an import of its own."""
        for unit, lines, report in zip(self.units, self.lines, self.reports, strict=True):
            yield Imported(self.root, [unit], [lines], [report], [])


def import_folder(root: Path, platform: str | None = None) -> Imported:
    units, found = find_units([root], platform)
    return import_units(root, units, found)


def import_units(root: Path, units: list[Unit], found: Report | None = None) -> Imported:
    lines: list[list[bytes]] = []
    reports: list[SourceReport] = []
    quarantined: list[Quarantined] = []
    used: list[bytes] = []
    for unit in units:
        report = SourceReport(unit.source.label, unit.platform)
        take = quarantined.append
        lines.append(list(document_lines(unit, report, {}, take, used=lambda record: used.append(json_line(record)))))
        reports.append(report)
    return Imported(root, units, lines, reports, quarantined, found or Report(), [json.loads(line) for line in used])


def named(units: Iterable[Unit]) -> list[Unit]:
    """The same units as if their paths and platform had been named, whatever their bytes look like by now."""
    return [Unit(Source(unit.source.folder, unit.source.name), unit.platform) for unit in units]


def files_of(unit: Unit) -> dict[str, bytes]:
    """The bytes of a unit: its own file, and the members that its importer names."""
    source = unit.source
    members = importer(unit.platform).recognizes(source).members
    if source.is_folder:
        inside = [name for name in source.folder.names() if name in members or name.split("/")[0] in members]
        return {source.folder.label_of(name): bytes_of(Source(source.folder, name)) for name in inside}
    path = Path(source.label)
    below = [file for member in members for file in (path.parent / member).rglob("*") if file.is_file()]
    beside = [path.parent / member for member in members if (path.parent / member).is_file()]
    return {str(file): file.read_bytes() for file in (path, *beside, *below)}


def bytes_of(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read()


def check(imported: Imported) -> None:
    """What holds for every import of whatever bytes."""
    for report in imported.reports:
        assert not report.traceback, report.traceback
        assert not report.failure, f"{report.source}: {report.failure}"
        assert "unforeseen" not in report.findings.counts, [
            finding for finding in report.findings.first if finding.code == "unforeseen"
        ]
        for code in ("invalid-document", "invalid-usage-record"):
            assert code not in report.findings.counts, [
                finding for finding in report.findings.first if finding.code == code
            ]
        ledger = report.ledger
        words = [ledger.mapped, *ledger.folded.values(), *ledger.skipped.values(), *ledger.quarantined.values()]
        assert ledger.read == sum(words), ledger
        assert min(words) >= 0, ledger
    assert len(imported.quarantined) == sum(sum(report.ledger.quarantined.values()) for report in imported.reports)
    for record in imported.used:
        assert is_valid(record, "usage"), record
    documents = imported.documents
    for document in documents:
        assert not (error := first_error(document)), error
    assert sum(report.messages for report in imported.reports) == sum(
        len(document["messages"]) for document in documents
    )
    for one in imported.one_by_one():
        check_links(one.documents, one.units[0].platform)


def check_links(documents: list[Json], platform: str) -> None:
    """Ids of messages are unique in their conversation, and parent links lead to messages, never in a circle.

    The fragments of a conversation are one; two whole documents of it are two states of it. Fragments that were made by
    another import, which the platform they name tells, may come alone or twice: each is judged by itself, and its links
    may lead out of it.
    """
    conversations: dict[tuple[str, int], dict[str, str | None]] = {}
    for number, document in enumerate(documents):
        is_own = document["platform"]["name"] == platform
        state = 0 if "fragment" in document and is_own else number
        parents = conversations.setdefault((document["conversation_id"], state), {})
        for message in document["messages"]:
            is_told_again = "fragment" in document and not {"known_from", "api_message_id"}.isdisjoint(
                message.get("metadata") or {}
            )
            assert is_told_again or message["message_id"] not in parents, f"{message['message_id']} stands twice"
            parents[message["message_id"]] = message.get("parent_message_id")
        if "fragment" in document and not is_own:
            parents |= {name: None for name, parent in parents.items() if parent not in parents}
    for parents in conversations.values():
        sound: set[str | None] = {None}
        for message_id in parents:
            path: list[str] = []
            at: str | None = message_id
            while at not in sound:
                assert at in parents, f"{path[-1]} has the parent {at}, which is nowhere"
                assert at not in path, f"the parents of {message_id} lead in a circle"
                path.append(at)
                at = parents[at]
            sound.update(path)


def first_error(document: Json) -> str:
    """Why the fast validator refuses a document; empty when it does not."""
    for error in validator().iter_errors(document):
        return f"{document.get('conversation_id')}: {list(error.instance_path)}: {error.message}"
    return ""


@cache
def schema() -> Json:
    return json.loads((CHECKOUT / "schema" / "conversation" / "1.0.0.json").read_text("utf-8"))


@cache
def validator() -> Any:
    return jsonschema_rs.validator_for(schema())


@cache
def reference_validator() -> jsonschema.Draft202012Validator:
    """Slow, and written by others: what it says counts."""
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


# -- the golden form ------------------------------------------------------------------------------------------------


def golden(imported: Imported) -> list[Json]:
    """Documents, usage records, then findings, then ledgers; nothing in it depends on where the source lies."""
    entries: list[Json] = [{"document": document} for document in imported.documents]
    entries += [{"usage": record} for record in imported.used]
    entries += [{"finding": finding.to_json()} for report in imported.reports for finding in report.findings.first]
    for report in imported.reports:
        ledger = report.ledger
        counts = {
            "read": ledger.read,
            "mapped": ledger.mapped,
            "folded": dict(sorted(ledger.folded.items())),
            "skipped": dict(sorted(ledger.skipped.items())),
            "quarantined": dict(sorted(ledger.quarantined.items())),
        }
        entries.append({"ledger": counts, "source": report.source})
    if imported.found.unclaimed:
        entries.append({"unclaimed": sorted(imported.found.unclaimed)})
    return [_relative(entry, f"{imported.root}{os.sep}") for entry in entries]


def _relative(value: Any, root: str) -> Any:
    match value:
        case str():
            return value.replace(root, "").replace(root.rstrip(os.sep), ".")
        case list():
            return [_relative(item, root) for item in value]
        case dict():
            return {key: _relative(item, root) for key, item in value.items()}
        case _:
            return value


def difference(new: Any, old: Any, pointer: str = "") -> str:
    """The first place at which two JSON values differ, in words."""
    if isinstance(new, dict) and isinstance(old, dict) and new.keys() == old.keys():
        pairs = [(key, new[key], old[key]) for key in new]
    elif isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        pairs = list(zip(range(len(new)), new, old, strict=True))
    else:
        return f"at {pointer or '/'}: {json.dumps(new)}, expected {json.dumps(old)}"
    return next(difference(one, other, f"{pointer}/{key}") for key, one, other in pairs if one != other)


def write_golden(path: Path, entries: list[Json]) -> None:
    path.write_bytes(b"".join(json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in entries))


def read_golden(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


# -- the oracle of content ------------------------------------------------------------------------------------------

LONG = 40
SPEAKERS = ["user", "assistant", "tool", "tool_use", "tool_result"]  # a list: a type may be unhashable
_LINK = re.compile("(^id|_id|Id|ID|[Uu]uid|timestamp)$")
_TWINS = {"toolUseResult", "tool_use_result"}
_BODY = re.compile("body|messages|properties", re.IGNORECASE)
_PASTED = re.compile(r"\[Pasted text #[^\]]*\]")
_DECODER = json.JSONDecoder()
_CALLS_IN_TEXT = re.compile(
    r"\A\s*\[[\w-]+(?s:.*?)\] Result:|^<(?:task|answer|feedback|condense|think|[a-z]+_[a-z_]+)>", re.MULTILINE
)
_TAGS = re.compile(r"\A\[|\] Result:|</?[a-z_]+>|\n")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `fixtures/<platform>/oracle.toml` says of a platform whose records the oracle does not know by itself."""

    text_fields: tuple[str, ...] = ()
    """Fields, at any depth of a record, that hold what people and models wrote."""
    quarantine_codes: tuple[str, ...] = ()
    """Findings under which the importer quarantines a whole record: its texts are not lost."""


@cache
def declaration(platform: str) -> Declaration:
    path = FIXTURES / platform / "oracle.toml"
    if not platform or not path.is_file():
        return Declaration()
    return Declaration(**{name: tuple(values) for name, values in tomllib.loads(path.read_text("utf-8")).items()})


def lost_texts(imported: Imported, files: dict[str, bytes]) -> list[str]:
    """Texts of messages in the source files that stand nowhere in the documents."""
    said = Said([*imported.documents, *set_aside(imported)])
    rules = imported.skipped_rules()
    platform = imported.units[0].platform if imported.units else ""
    return [text for raw in files.values() for text in texts_of(raw, rules, platform) if text not in said]


def lost_blocks(imported: Imported, files: dict[str, bytes]) -> set[tuple[str, str]]:
    """Tool calls and results, by their ids, and lines of speakers, by their uuids, that the documents do not hold.

    A text that survives somewhere does not prove that every block did: short ones are found only by their ids.
    """
    rules = imported.skipped_rules()
    wanted = {name for raw in files.values() for record in kept_records(raw, rules) for name in names_in(record)}
    documents = imported.documents
    held = {name for document in documents for name in names_in(document)}
    said = {("line", text) for text in strings(documents)}
    aside = "".join(one["raw"] for one in set_aside(imported))
    return {name for name in wanted - held - said if name[1] not in aside}


def set_aside(imported: Imported) -> list[Json]:
    """What was set aside because it had lost the shape of a conversation, a known version, or JSON: it is not lost."""
    codes = {code for unit in imported.units for code in declaration(unit.platform).quarantine_codes}
    return [
        {
            "raw": (raw := entry.raw.decode(errors="replace")),
            "plain": _unescaped(raw),
            "plainer": _unescaped(_unescaped(raw)),
        }
        for entry in imported.quarantined
        if entry.code in {"bad-conversation", "bad-record", "unknown-version", *codes}
        or (entry.code == "bad-json" and not _is_json(entry.raw))
    ]


def _unescaped(text: str) -> str:
    """JSON that cannot be parsed any more, as its strings would read."""
    return re.sub(r"\\(u[0-9a-f]{4}|.)", _character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1][1:], 16)) if len(escape[1]) > 1 else {"n": "\n", "t": "\t"}.get(escape[1], escape[1])


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def names_in(value: Any) -> Iterator[tuple[str, str]]:
    """Names of what stands in a JSON value: (tool_use, id), (tool_result, id of its call), (line, id of a message)."""
    for holder in containers(value):
        match holder:
            case {"type": "tool_use", "id": str(call_id)} | {"type": "tool_result", "tool_use_id": str(call_id)}:
                yield holder["type"], call_id
            case {"type": "user" | "assistant", "uuid": str(uuid), "message": dict()} | {
                "sender": "human" | "assistant",
                "uuid": str(uuid),
            }:
                yield "line", uuid
            case {"author": {"role": str()}, "id": str(message_id), "content": dict()}:
                yield "line", message_id
            case _:
                pass


class Said:
    """Every string of some documents, for exact and for substring lookup."""

    def __init__(self, documents: Iterable[Json]) -> None:
        self._exact = {clean(text) for text in strings(list(documents))}
        self._joined = "\n\0".join(self._exact)

    def __contains__(self, text: str) -> bool:
        if text in self._exact or text in self._joined:
            return True
        if text.startswith("data:") and "," in text:
            return text.partition(",")[2] in self  # a document has the media type and the bytes apart
        # What a model says to a tool may stand in the document as the JSON that it is.
        said = _loaded_object(text)
        return bool(said) and all(clean(part) in self for part in strings(said) if len(part) >= LONG)


def records_of(raw: bytes) -> list[Json]:
    """The objects of JSON Lines, of one JSON document, or of objects one after the other, as far as they are whole."""
    text = raw.decode("utf-8-sig", errors="replace").replace("\0", "")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return [record for record in (whole if isinstance(whole, list) else [whole]) if isinstance(record, dict)]
    if text.lstrip().startswith("["):
        return _decoded(text.lstrip()[1:])
    if text.split("\n", 1)[0].strip() == "{":
        return _decoded(text)
    if re.match(r'"?TimeGenerated\b', text):
        return _rows(text)
    return [record for line in text.split("\n") for record in _decoded(line)]


def _rows(text: str) -> list[Json]:
    """The rows of a table of Azure's portal; what is damaged in one may go on to the end."""
    csv.field_size_limit(1 << 29)
    try:
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error:
        return []


def _decoded(text: str) -> list[Json]:
    """Objects from the start of a text on, up to the first damage."""
    found: list[Json] = []
    position = 0
    while match := re.compile(r"[\s,]*(?=\{)").match(text, position):
        try:
            record, position = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
        found.append(record)
    return found


def texts_of(raw: bytes, rules: Iterable[str] = (), platform: str = "") -> Iterator[str]:
    """The long strings of all messages in a file, minus those under a rule that the ledger says was applied."""
    fields = declaration(platform).text_fields
    for record in kept_records(raw, rules):
        for holder in containers(record) if fields else ():
            if isinstance(holder, dict):
                texts = strings([holder[name] for name in fields if name in holder])
                yield from (clean(text) for text in texts if len(text) >= LONG)
        for speech in speeches(record):
            for key, value in speech.items():
                if key == "display":  # a session has the pasted text itself, and a sign as a tag
                    value = [piece.strip(" #!\n") for piece in _PASTED.split(str(value))]
                if not _LINK.search(key):
                    yield from _long_texts(value, is_twin=key in _TWINS)


def kept_records(raw: bytes, rules: Iterable[str] = ()) -> list[Json]:
    """The records of a file, minus those under a rule that the ledger says was applied."""
    left_out = [LEFT_OUT[rule] for rule in rules if rule in LEFT_OUT]
    return [record for record in records_of(raw) if not any(is_left_out(record, raw) for is_left_out in left_out)]


LEFT_OUT: dict[str, Callable[[Json, bytes], bool]] = {
    "progress": lambda record, _: record.get("type") == "progress",
    "stream-event": lambda record, _: record.get("type") == "stream_event",
    "warmup-agent": lambda _, raw: is_warmup(raw),
    "count-tokens": lambda record, _: bool(re.search("count_?tokens", _address(record), re.IGNORECASE)),
    "other-traffic": lambda record, _: bool(re.search("/embeddings|/event_logging", _address(record))),
}
"""Which records of which file the importers' documented rules leave out; any other rule leaves out no message."""


def _address(record: Json) -> str:
    """Where a logged request went."""
    request = record.get("request")
    return str(request.get("url")) if isinstance(request, dict) else str(record.get("url"))


def is_warmup(raw: bytes) -> bool:
    """Whether a file may be an agent's that was started for nothing; its first line may be damaged by a test."""
    return b'"Warmup"' in raw


def speeches(record: Json) -> Iterator[Json]:
    """The outermost objects in a record, mostly itself, that are messages or rows with what somebody typed."""
    stack: list[Any] = [record]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if _is_speech(value):
                yield value
            else:
                stack += value.values()
                stack += [_loaded(item) for key, item in value.items() if _BODY.search(str(key))]
                stack += _zipped(value.get("columns"), value.get("rows"))
        elif isinstance(value, list):
            stack += value


def _zipped(columns: Any, rows: Any) -> list[Json]:
    """The rows of a table that a query gave, each with the names of its columns."""
    if not isinstance(columns, list) or not isinstance(rows, list):
        return []
    names = [str(column.get("name")) if isinstance(column, dict) else "" for column in columns]
    return [dict(zip(names, row, strict=False)) for row in rows if isinstance(row, list)]


def _loaded(text: Any) -> Any:
    """What a text stands for, if it is JSON: gateways log bodies as they are."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _is_speech(value: Json) -> bool:
    match value:
        case {"display": _} | {"fragments": list()} | {"sender": "human" | "assistant"} | {"author": {"role": str()}}:
            return True
        case _:
            return any(value.get(key) in SPEAKERS for key in ("type", "role"))


def _long_texts(value: Any, *, is_twin: bool) -> Iterator[str]:
    for text in strings(value, {"originalFile"} if is_twin else ()):
        text = clean(text)
        if text.startswith("<persisted-output>"):
            pieces = text.partition("Preview")[2].split("\n")  # the full text takes the place of the preview
        elif _CALLS_IN_TEXT.search(text):
            # Calls, results and who speaks are taken out of the text that they are written in, tag by tag.
            pieces = [piece.strip() for piece in _TAGS.split(text)]
        elif is_twin:
            # A result may show the same file with line numbers, or the same error without this word.
            pieces = text.removeprefix("Error: ").split("\n")
        else:
            pieces = [text]
        yield from (piece for piece in pieces if len(piece) >= LONG)


def _loaded_object(text: str) -> Any:
    if not text.startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def strings(value: Any, leaving_out: Iterable[str] = ()) -> Iterator[str]:
    """Every string in a JSON value, at any depth."""
    holders = list(containers([value], leaving_out))
    for holder in holders:
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        yield from (item for key, item in items if isinstance(item, str) and key not in leaving_out)


def containers(value: Any, leaving_out: Iterable[str] = ()) -> Iterator[Any]:
    """Every object and array in a JSON value, itself included, without recursion: sources nest as deep as they like."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += [item for key, item in value.items() if key not in leaving_out]
        elif isinstance(value, list):
            yield value
            stack += value


def clean(text: str) -> str:
    """A text as a document may hold it: halves of surrogate pairs replaced, no NUL."""
    return _SURROGATES.sub("\ufffd", text).replace("\0", "")


# -- the oracle of tokens -------------------------------------------------------------------------------------------

TOKENS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_creation_input_tokens": "cache_write",
    "cache_read_input_tokens": "cache_read",
}
"""The counts of a message, and their names in a conversation's metrics."""


OPENAI_TOKENS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
"""The names of the same counts in OpenAI's chat."""


class Usage:
    """The field-wise maximum of token counts, by the id of the API message."""

    def __init__(self) -> None:
        self.best: dict[str, Counter[str]] = {}
        self.unnamed: Counter[str] = Counter()

    def add_stated(self, raw: bytes) -> None:
        """Take the numbers of a source file, wherever in its records an answer stands."""
        streamed = ""
        records = records_of(raw)
        begun = self._begun(records)
        for record in records:
            of_call = begun.get(_call_of(record))
            for value in containers(record):
                match value:
                    case {"model": "<synthetic>"} | {"role": "user"}:
                        pass
                    case {"id": str(api_id), "usage": dict(usage)}:
                        self._add(api_id, usage)
                    case {"type": "message_start", "message": {"id": str(api_id)}}:
                        streamed = api_id
                    case {"type": "message_delta", "usage": dict(usage)} if of_call or streamed:
                        self._add(of_call or streamed, usage)
                    case _:
                        pass

    def _begun(self, records: list[Json]) -> dict[str, str]:
        """The messages that begin in records of calls, which may stand in any order."""
        return {
            call: value["message"]["id"]
            for record in records
            if (call := _call_of(record))
            for value in containers(record)
            if _begins_message(value)
        }

    def add_told(self, documents: list[Json]) -> None:
        for message in (message for document in documents for message in document["messages"]):
            usage = message.get("tokens")
            api_id = message.get("metadata", {}).get("api_message_id")
            if usage is not None and api_id:
                self._add(api_id, usage)
            elif usage is not None:
                self.unnamed += token_counts(usage)

    def add_used(self, records: list[Json]) -> None:
        """Take the numbers of usage records."""
        for record in records:
            if api_id := record.get("api_message_id"):
                self._add(api_id, record.get("tokens") or {})
            else:
                self.unnamed += token_counts(record.get("tokens") or {})

    def _add(self, api_id: str, usage: Json) -> None:
        self.best[api_id] = self.best.get(api_id, Counter()) | token_counts(usage)


def _call_of(record: Json) -> str:
    """The call that a record of a log belongs to; empty for records of other kinds."""
    if record.get("type") == "response_chunk":
        return str(record.get("request_id"))
    return str(id(record)) if isinstance(record.get("request"), dict) else ""


def _begins_message(value: Any) -> bool:
    match value:
        case {"type": "message_start", "message": {"id": str()}}:
            return True
        case _:
            return False


def token_counts(usage: Json) -> Counter[str]:
    usage = {ours: usage.get(theirs) for theirs, ours in OPENAI_TOKENS.items()} | usage
    return Counter({name: usage[name] for name in TOKENS if type(usage.get(name)) is int})
