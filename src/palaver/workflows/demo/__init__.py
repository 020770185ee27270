"""The home folder of somebody called Sam, with sample conversations for `palaver demo`.

The folder `home` beside this module has files as Claude Code, GitHub Copilot, a tracing proxy and ChatGPT write them,
dated as if today were 31 January 2026. All times move with the day on which they are written out, so that the last
conversation is always of yesterday and all are of the last 30 days.
"""

import os
import re
import zipfile
from datetime import date, datetime, timedelta
from pathlib import Path

_SAMPLES = Path(__file__).with_name("home")
_DATED = date(2026, 1, 31)
_PLACES = {"claude": ".claude", "copilot": ".copilot", "claude-trace": ".claude-trace"}
"""Where each product keeps its folder below the home folder, on every system."""
EXPORT = Path("Downloads", "chatgpt-export.zip")
_TIMESTAMP = re.compile(r'(?<=")2026-01-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?=")')
_SECONDS = re.compile(r"(?<=: )176\d{7}\.\d+")
_DAY = re.compile(r"2026-01-\d\d")
_ELSEWHERE = ("PALAVER", "CLAUDE", "XDG_", "COPILOT_", "CLINE_", "CONTINUE_", "VSCODE_")
"""Beginnings of the variables that lead palaver or a product to other folders than those below the home folder."""


def write_demo_home(home: Path, today: date) -> None:
    """Write Sam's files below a folder, as if the last conversation had been the day before a date."""
    later = today - _DATED
    for name, place in _PLACES.items():
        for sample in sorted((_SAMPLES / name).rglob("*.jsonl")):
            path = home / place / sample.relative_to(_SAMPLES / name)
            path = path.with_name(_DAY.sub(lambda day: str(date.fromisoformat(day[0]) + later), path.name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_moved(sample, later).encode())
    (home / EXPORT).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(home / EXPORT, "w", zipfile.ZIP_DEFLATED) as export:
        export.writestr("conversations.json", _moved(_SAMPLES / "chatgpt" / "conversations.json", later))


def demo_environment(home: Path, archive_folder: Path) -> dict[str, str]:
    """Return the variables of a process that sees these folders instead of the user's own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_ELSEWHERE)}
    own = {"HOME": home, "USERPROFILE": home, "APPDATA": home / "AppData", "PALAVER_HOME": archive_folder}
    return {**environment, **{name: str(path) for name, path in own.items()}}


def _moved(sample: Path, later: timedelta) -> str:
    """Return the text of a sample with every time moved by whole days."""
    text = sample.read_text("utf-8")
    text = _SECONDS.sub(lambda seconds: repr(float(seconds[0]) + later.total_seconds()), text)
    return _TIMESTAMP.sub(lambda time: _later(time[0], later), text)


def _later(timestamp: str, later: timedelta) -> str:
    return f"{(datetime.fromisoformat(timestamp) + later).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
