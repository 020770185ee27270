"""What the program tells the model of its surroundings with every request: the `<environment_details>` of a turn.

Roo Code and Kilo Code say there, and nowhere else, which mode and which model a turn was for. The time is a UTC one in
newer versions and the spelling of the user's country before; of these, only the American one can be told from others.
"""

import re

from palaver.model.timestamps import readable_timestamp

_OPENING, _CLOSING = "<environment_details>", "</environment_details>"
_MODE = "# Current Mode\n"
_MODE_LENGTH = 600
_COST = "# Current Cost\n"
_STATED = "Current time in ISO 8601 UTC format: "
_LOCAL = re.compile(
    r"# Current Time\n([0-9]{1,2}/[0-9]{1,2}/[0-9]{4}, [0-9:]+\s[AP]M)"
    r" \(([^,()\n]+), UTC([+-])([0-9]{1,2}):([0-9]{2})\)"
)
_ZONE = "User time zone: "
_WORKSPACE = re.compile(r"# (?:Current Workspace|Current Working) Directory \((.*)\) Files\n")
_CLINE_MODES = {"ACT MODE": "act", "PLAN MODE": "plan"}


Environment = dict[str, str]
"""What is stated of `mode`, `mode_name`, `model`, `time`, `time_zone`, `cost` and `workspace`, in this order."""


def is_environment(text: str) -> bool:
    """Whether a block is nothing else, as the products themselves ask."""
    stripped = text.strip()
    return stripped.startswith(_OPENING) and stripped.endswith(_CLOSING)


def environment_in(text: str) -> Environment:
    found: Environment = {}
    at = text.find(_MODE)
    if at >= 0:
        at += len(_MODE)
        section = text[at : at + _MODE_LENGTH]
        found["mode"] = _tag(section, "slug") or _CLINE_MODES.get(section.partition("\n")[0].strip(), "")
        found["mode_name"] = _tag(section, "name")
        found["model"] = _tag(section, "model")
    zone = _line(text, _ZONE)
    if stated := _line(text, _STATED):
        found["time"] = readable_timestamp(stated)
    elif "# Current Time\n" in text and (local := _LOCAL.search(text)):
        when, zone, sign, hours, minutes = local.groups()
        found["time"] = readable_timestamp(f"{' '.join(when.split())} {sign}{hours:0>2}:{minutes}")
    found["time_zone"] = zone
    found["cost"] = _line(text, _COST)
    found["workspace"] = _workspace(text)
    return {name: value for name, value in found.items() if value}


def _workspace(text: str) -> str:
    at = text.find("Directory (")
    if at < 0:
        return ""
    found = _WORKSPACE.search(text, max(0, at - 20))
    return found[1] if found else ""


def _line(text: str, before: str) -> str:
    """The rest of the line behind some words."""
    at = text.find(before)
    if at < 0:
        return ""
    at += len(before)
    end = text.find("\n", at)
    return text[at : end if end >= 0 else len(text)].strip()


def _tag(section: str, name: str) -> str:
    at = section.find(f"<{name}>")
    end = section.find(f"</{name}>", at)
    return section[at + len(name) + 2 : end].strip() if 0 <= at < end else ""
