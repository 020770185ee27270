"""The home folder behind every output that README, the tour and the screenshots show: a few invented conversations.

They come from `fixtures/`, laid out where the assistants keep them. Everything that depends on the machine or the day
is fixed: the environment names this home only, and files have a time of their own.
"""

import io
import json
import os
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
WIDTH = 100
"""Columns of the terminal that all outputs are printed for."""
_WRITTEN_AT = 1_783_900_800  # 2026-07-13, after the last of the conversations
_ZIP_TIME = (2026, 6, 4, 12, 0, 0)
_SESSIONS = (
    "parallel_tool_calls",
    "plain_session",
    "resumed_pair",
    "rewind_branches",
    "subagents_folder",
    "tool_use_results",
)
_CHATS = ("branches", "citations", "plain_classic")
_OTHERS = {
    ".continue": FIXTURES / "continue_dev" / "agent_tools" / "source" / ".continue",
    ".copilot": FIXTURES / "github_copilot" / "cli_session" / "source",
}


def make_example_home(home: Path) -> None:
    """Write a home with Claude Code, Copilot and Continue sessions, and a ChatGPT export among the downloads."""
    for case in _SESSIONS:
        _copy_sessions(FIXTURES / "claude_code" / case / "source", home / ".claude" / "projects")
    for name, source in _OTHERS.items():
        shutil.copytree(source, home / name)
    export = home / "Downloads" / "chatgpt-export.zip"
    export.parent.mkdir()
    export.write_bytes(_export_of(FIXTURES / "chatgpt" / case / "source" / "conversations.json" for case in _CHATS))
    for path in home.rglob("*"):
        os.utime(path, (_WRITTEN_AT, _WRITTEN_AT))


def example_environment(home: Path) -> dict[str, str]:
    """Return the environment of a person with this home, at a terminal of a fixed width."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP", "COMSPEC", "LANG")
        if name in os.environ
    }
    scripts = sysconfig.get_path("scripts")
    return {
        **kept,
        "PATH": f"{scripts}{os.pathsep}{kept.get('PATH', '')}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONUTF8": "1",
        "HOME": str(home),
        "USERPROFILE": str(home),
        "PALAVER_HOME": str(home / "palaver"),
        "PAGER": "cat",
        "TZ": "UTC",
        "COLUMNS": str(WIDTH),
        "FORCE_COLOR": "1",
        "COLORTERM": "truecolor",
        "TERM": "xterm-256color",
    }


def _copy_sessions(source: Path, projects: Path) -> None:
    """Put session files where Claude Code keeps them: in a folder that is called after the project."""
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        parts = path.relative_to(source).parts
        below = parts[1:] if parts[0] == "projects" else (_project_of(path), *parts)
        target = projects.joinpath(*below)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _project_of(session: Path) -> str:
    lines = map(json.loads, session.read_text("utf-8").splitlines())
    folder = next(line["cwd"] for line in lines if "cwd" in line)
    return folder.replace("/", "-")


def _export_of(chats: Iterable[Path]) -> bytes:
    conversations = [chat for path in chats for chat in json.loads(path.read_text("utf-8"))]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo("conversations.json", _ZIP_TIME)
        member.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(member, json.dumps(conversations))
    return content.getvalue()


if __name__ == "__main__":
    make_example_home(Path(sys.argv[1]))
