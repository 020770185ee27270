"""How long Claude Code keeps session files: it deletes those that were not changed for `cleanupPeriodDays`."""

from pathlib import Path

import orjson

from palaver.importers._shared.contract import Retention

DEFAULT_DAYS = 30
_SETTING = "cleanupPeriodDays"


def retention(root: Path) -> Retention:
    """What the settings of one configuration folder say."""
    file = root / "settings.json"
    try:
        settings = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        settings = None
    match settings:
        case {"cleanupPeriodDays": int(days)} if days >= 0 and not isinstance(days, bool):
            pass
        case _:
            days = DEFAULT_DAYS
    return Retention(root / "projects", days, ".jsonl", f"{_SETTING} in {file}")
