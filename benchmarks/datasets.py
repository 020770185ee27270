"""What `run.py` measures: data sets, generated or copied into `benchmarks/data/` when they are not there already.

Generating and cutting run as processes of their own: `run.py` has to stay small.
"""

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
RATIO_LIMITS = {"chatgpt": 4.5}
RATIO_LIMIT = 2.5
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
    def ratio_limit(self) -> float:
        return RATIO_LIMITS.get(self.platform, RATIO_LIMIT)


def start_up(platform: str, workspace: Path) -> DataSet:
    """Next to nothing to import: what is left is the time that the commands take to start."""
    if platform == "chatgpt":
        folder = workspace / "short"
        _generate(platform, folder, 0.001)
        export = folder / "export.zip"
        return DataSet(name="start-up (tiny ZIP)", platform=platform, source=export, elements=_cut(export))
    if platform != "claude_code":
        folder = workspace / f"short-{platform}"
        _generate(platform, folder, 0.001)
        return DataSet(name=f"start-up (tiny {platform})", platform=platform, source=folder)
    session = workspace / "empty" / "-home-dev-empty" / "00000000-0000-4000-a000-000000000000.jsonl"
    session.parent.mkdir(parents=True)
    session.touch()
    return DataSet(name="start-up (empty file)", platform=platform, source=workspace / "empty")


def _sessions(name: str, megabytes: float, *options: str) -> DataSet:
    folder = DATA / name
    truth = _generate("claude_code", folder, megabytes, *options)
    return DataSet(
        name=name,
        platform="claude_code",
        source=folder,
        size_mb=truth["bytes"] / 1_000_000,
        largest_record_mb=truth["largest_line"] / 1_000_000,
        truth=_truth_of(folder),
    )


def _tree(platform: str, megabytes: float) -> DataSet:
    folder = DATA / platform
    truth = _generate(platform, folder, megabytes)
    return DataSet(
        name=platform,
        platform=platform,
        source=folder,
        size_mb=truth["bytes"] / 1_000_000,
        largest_record_mb=truth["largest_line"] / 1_000_000,
        truth=_truth_of(folder),
    )


def _export(name: str, megabytes: float, *options: str) -> DataSet:
    folder = DATA / name
    truth = _generate("chatgpt", folder, megabytes, *options)
    export = folder / "export.zip"
    with zipfile.ZipFile(export) as archive:
        size = sum(member.file_size for member in archive.infolist() if member.filename.startswith("conversations"))
    return DataSet(
        name=name,
        platform="chatgpt",
        source=export,
        elements=_cut(export),
        size_mb=size / 1_000_000,
        largest_record_mb=truth["largest_conversation"] / 1_000_000,
        truth=_truth_of(folder),
    )


def _generate(platform: str, folder: Path, megabytes: float, *options: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "generate.py"), platform, str(folder), "--reuse"]
    command += ["--megabytes", str(megabytes), *options]
    return orjson.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def _cut(export: Path) -> Path:
    command = [sys.executable, str(HERE / "cut.py"), str(export)]
    return Path(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.strip())


def _truth_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.truth.json")


def _samples(name: str) -> DataSet | None:
    named = os.environ.get("PALAVER_SAMPLES")
    samples = (Path(named) if named else HERE.parent.parent / "shared" / "samples") / "claude_code"
    sources = [path for name in REAL_SAMPLES for path in sorted((samples / name).rglob("*")) if path.is_file()]
    if not sources:
        print("no recorded samples beside the checkout or in $PALAVER_SAMPLES: left out", file=sys.stderr)
        return None
    folder = DATA / name
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
        name=name,
        platform="claude_code",
        source=folder,
        size_mb=size_bytes / 1_000_000,
        largest_record_mb=largest / 1_000_000,
    )


def _lines(paths: Iterator[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as lines:
            yield from lines


PREPARE: dict[str, Callable[[str, argparse.Namespace], DataSet | None]] = {
    "claude_code-ascii": lambda name, asked: _sessions(name, asked.megabytes),
    "claude_code-unicode": lambda name, asked: _sessions(name, asked.megabytes, "--text", "unicode"),
    "claude_code-samples": lambda name, _: _samples(name),
    "claude_code-single": lambda name, asked: _sessions(name, asked.single_megabytes, "--single-file"),
    "chatgpt-ascii": lambda name, asked: _export(name, asked.megabytes),
    "chatgpt-unicode": lambda name, asked: _export(name, asked.megabytes, "--text", "unicode"),
    "chatgpt-lean": lambda name, asked: _export(name, asked.megabytes, "--lean"),
    "chatgpt-large": lambda name, asked: _export(name, asked.single_megabytes),
    "azure_openai": lambda name, asked: _tree(name, asked.log_megabytes),
    "api_trace": lambda name, asked: _tree(name, asked.log_megabytes),
    "continue_dev": lambda name, asked: _tree(name, asked.tree_megabytes),
    "roo_code": lambda name, asked: _tree(name, asked.tree_megabytes),
    "github_copilot": lambda name, asked: _tree(name, asked.tree_megabytes),
}
