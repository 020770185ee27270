"""Benchmark data: the same parameters give the same bytes, and beside them what a correct import must find there.

    python benchmarks/generate.py claude_code DIR --megabytes 200 [--files N] [--text unicode] [--single-file]
    python benchmarks/generate.py chatgpt DIR --megabytes 200 [--text unicode] [--lean]
    python benchmarks/generate.py azure_openai|api_trace DIR --megabytes 500 [--text unicode]
    python benchmarks/generate.py continue_dev|roo_code|github_copilot DIR --megabytes 100 [--text unicode]

The truth is printed as JSON and written to `DIR.truth.json`, outside of the tree that is imported.
"""

import argparse
import hashlib
import random
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

import api_trace
import azure_openai
import chatgpt
import claude_code
import continue_dev
import github_copilot
import roo_code
from prose import Prose

PLATFORMS = ["claude_code", "chatgpt", "azure_openai", "api_trace", "continue_dev", "roo_code", "github_copilot"]


def main() -> int:
    arguments = _arguments()
    folder: Path = arguments.folder
    parameters = {name: value for name, value in vars(arguments).items() if name not in {"folder", "reuse"}}
    parameters["generator"] = _fingerprint(arguments.platform)
    truth_path = folder.with_name(f"{folder.name}.truth.json")
    truth = _read_truth(truth_path)
    if not (arguments.reuse and folder.is_dir() and truth.get("parameters") == parameters):
        if folder.exists() and any(folder.iterdir()):
            if not truth:
                print(f"{folder} is not empty and was not made here; name another folder", file=sys.stderr)
                return 2
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # A run that is interrupted now is recognised later: the folder is ours, and not finished.
        truth_path.write_bytes(b'{"parameters":null}')
        truth = {"parameters": parameters, **_generate(folder, arguments)}
        truth_path.write_bytes(orjson.dumps(truth, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    print(orjson.dumps(truth, option=orjson.OPT_INDENT_2).decode())
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Generate benchmark data.")
    parser.add_argument("platform", choices=PLATFORMS)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--megabytes", type=float, default=200, help="size of the JSON, in 1,000,000 bytes")
    parser.add_argument("--files", type=int, help="number of sessions; default: one for each 0.6 MB (claude_code)")
    parser.add_argument("--text", choices=["ascii", "unicode"], default="ascii")
    parser.add_argument("--single-file", action="store_true", help="one session file of the whole size (claude_code)")
    parser.add_argument("--lean", action="store_true", help="the form of 2026 (chatgpt)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reuse", action="store_true", help="keep DIR if these parameters made it")
    return parser.parse_args()


def _generate(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    prose = Prose(random.Random(arguments.seed), is_unicode=arguments.text == "unicode")
    if arguments.platform == "chatgpt":
        return asdict(chatgpt.generate_export(folder, arguments.megabytes, prose, is_lean=arguments.lean))
    if arguments.platform in {"azure_openai", "api_trace"}:
        room = azure_openai if arguments.platform == "azure_openai" else api_trace
        return asdict(room.generate_log(folder, arguments.megabytes, prose))
    rooms = {"continue_dev": continue_dev, "roo_code": roo_code, "github_copilot": github_copilot}
    if room := rooms.get(arguments.platform):
        return asdict(room.generate_tree(folder, arguments.megabytes, prose))
    if arguments.single_file:
        return asdict(claude_code.generate_single(folder, arguments.megabytes, prose))
    return asdict(claude_code.generate_tree(folder, arguments.megabytes, arguments.files, prose))


def _fingerprint(platform: str) -> str:
    here = Path(__file__).parent
    shared = [here / name for name in ("generate.py", "prose.py", "traffic.py", "trees.py")]
    sources = [*shared, *sorted((here / platform).glob("*.py"))]
    return hashlib.blake2b(b"\0".join(source.read_bytes() for source in sources), digest_size=8).hexdigest()


def _read_truth(path: Path) -> dict[str, Any]:
    return orjson.loads(path.read_bytes()) if path.is_file() else {}


if __name__ == "__main__":
    sys.exit(main())
