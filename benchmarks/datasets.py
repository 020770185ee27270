"""What is imported: data sets, generated or copied into a folder when they are not there already.

Generating and cutting run as processes of their own: whoever measures has to stay small.
"""

import argparse
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from processes import HERE, environment, python

# The folders that hold whole sessions as they were recorded; the others were written by hand to show one thing each.
REAL_SAMPLES = [
    "bastion-glm",
    "claude-code-viewer-home",
    "spotter-258c7280",
    "spotter-4d5611e5",
    "spotter-small",
    "vscode-agent",
]
SAMPLE_COPIES = 10
WITHIN_STRINGS = ("azure_openai", "api_trace", "roo_code")
"""Whose files keep much of their JSON as text in strings."""


@dataclass(kw_only=True)
class DataSet:
    name: str
    platform: str
    source: Path
    """What is imported."""
    elements: Path | None = None
    """What the yardstick parses, where that is not the source itself."""
    size_mb: float = 0.0
    largest_record_mb: float = 0.0
    truth: Path | None = None

    @property
    def yardstick_options(self) -> list[str]:
        return ["--within"] if self.platform in WITHIN_STRINGS else []


def start_up(platform: str, data: Path) -> DataSet:
    """Next to nothing to import: what is left is the time that the commands take to start."""
    folder = data / f"start-{platform}"
    if platform == "claude_code":
        session = folder / "-home-dev-empty" / "00000000-0000-4000-a000-000000000000.jsonl"
        session.parent.mkdir(parents=True, exist_ok=True)
        session.touch()
    elif not folder.exists():
        _generate(platform, folder, 0.001)
    export = folder / "export.zip" if platform == "chatgpt" else None
    return DataSet(name="start", platform=platform, source=export or folder, elements=export and _cut(export))


def tree(platform: str, folder: Path, megabytes: float, *options: str) -> DataSet:
    """A folder of files, of which each line or each file is a record."""
    truth = _generate(platform, folder, megabytes, *options)
    return DataSet(
        name=folder.name,
        platform=platform,
        source=folder,
        size_mb=truth["bytes"] / 1_000_000,
        largest_record_mb=truth["largest_line"] / 1_000_000,
        truth=_truth_of(folder),
    )


def export(folder: Path, megabytes: float, *options: str) -> DataSet:
    """A ZIP of ChatGPT's."""
    truth = _generate("chatgpt", folder, megabytes, *options)
    file = folder / "export.zip"
    with zipfile.ZipFile(file) as archive:
        size = sum(member.file_size for member in archive.infolist() if member.filename.startswith("conversations"))
    return DataSet(
        name=folder.name,
        platform="chatgpt",
        source=file,
        elements=_cut(file),
        size_mb=size / 1_000_000,
        largest_record_mb=truth["largest_conversation"] / 1_000_000,
        truth=_truth_of(folder),
    )


def _generate(platform: str, folder: Path, megabytes: float, *options: str) -> dict[str, Any]:
    size = "--megabytes", str(megabytes)
    return orjson.loads(_told(HERE / "generate.py", platform, folder, "--reuse", *size, *options))


def _cut(export: Path) -> Path:
    return Path(_told(HERE / "cut.py", export).decode().strip())


def _told(*words: str | Path) -> bytes:
    return subprocess.run(python(*words), stdout=subprocess.PIPE, check=True, env=environment(HERE)).stdout


def _truth_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.truth.json")


def _samples(folder: Path) -> DataSet | None:
    named = os.environ.get("PALAVER_SAMPLES")
    samples = (Path(named) if named else HERE.parent.parent / "shared" / "samples") / "claude_code"
    sources = [path for name in REAL_SAMPLES for path in sorted((samples / name).rglob("*")) if path.is_file()]
    if not sources:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    for copy in range(SAMPLE_COPIES):
        for source in sources:
            target = folder / f"copy-{copy}" / source.relative_to(samples)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    size_bytes, largest = 0, 0
    for line in _lines(path for path in sources if path.suffix == ".jsonl"):
        size_bytes += len(line) * SAMPLE_COPIES
        largest = max(largest, len(line))
    return DataSet(
        name=folder.name,
        platform="claude_code",
        source=folder,
        size_mb=size_bytes / 1_000_000,
        largest_record_mb=largest / 1_000_000,
    )


def _lines(paths: Iterator[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as lines:
            yield from lines


Asked = argparse.Namespace
PREPARE: dict[str, Callable[[Path, Asked], DataSet | None]] = {
    "claude_code-ascii": lambda folder, asked: tree("claude_code", folder, asked.megabytes),
    "claude_code-unicode": lambda folder, asked: tree("claude_code", folder, asked.megabytes, "--text", "unicode"),
    "claude_code-samples": lambda folder, _: _samples(folder),
    "claude_code-single": lambda folder, asked: tree("claude_code", folder, asked.single_megabytes, "--single-file"),
    "chatgpt-ascii": lambda folder, asked: export(folder, asked.megabytes),
    "chatgpt-unicode": lambda folder, asked: export(folder, asked.megabytes, "--text", "unicode"),
    "chatgpt-lean": lambda folder, asked: export(folder, asked.megabytes, "--lean"),
    "chatgpt-large": lambda folder, asked: export(folder, asked.single_megabytes),
    "azure_openai": lambda folder, asked: tree("azure_openai", folder, asked.log_megabytes),
    "api_trace": lambda folder, asked: tree("api_trace", folder, asked.log_megabytes),
    "continue_dev": lambda folder, asked: tree("continue_dev", folder, asked.tree_megabytes),
    "roo_code": lambda folder, asked: tree("roo_code", folder, asked.tree_megabytes),
    "github_copilot": lambda folder, asked: tree("github_copilot", folder, asked.tree_megabytes),
}


def prepared(name: str, asked: Asked) -> DataSet | None:
    """None where there are no recorded samples on this machine."""
    return PREPARE[name](asked.data / name, asked)


def of_size(platform: str, megabytes: float, asked: Asked) -> DataSet:
    folder = asked.data / f"{platform}-{megabytes:g}mb"
    return export(folder, megabytes) if platform == "chatgpt" else tree(platform, folder, megabytes)
