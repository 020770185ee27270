"""What the program tells the model of its surroundings with every request: the `<environment_details>` of a turn.

Roo Code and Kilo Code say there, and nowhere else, which mode and which model a turn was for. The time is a UTC one in
newer versions and the spelling of the user's country before; of these, only the American one can be told from others.
"""

import re

from palaver.model.timestamps import is_canonical, readable_timestamp

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
_REST, _WITHIN = r"(\S[^\n]*+)(?<!\s)", r"([^\s<][^<]*+)(?<!\s)"
_USUAL = re.compile(
    rf"{_REST}\n{_ZONE}{_REST}\n\n{_COST}{_REST}\n\n"
    rf"{_MODE}<slug>{_WITHIN}</slug>\n<name>{_WITHIN}</name>\n<model>{_WITHIN}</model>"
)
"""What Roo Code says in one piece, since it writes the time as UTC: that, and what follows it."""
_CLINE_MODES = {"ACT MODE": "act", "PLAN MODE": "plan"}


Environment = dict[str, str]
"""What is stated of `mode`, `mode_name`, `model`, `time`, `time_zone`, `cost` and `workspace`, in this order."""


def is_environment(text: str) -> bool:
    """Whether a block is nothing else, as the products themselves ask."""
    if not (text.startswith("<") or text[:1].isspace()):
        return False
    stripped = text.strip()
    return stripped.startswith(_OPENING) and stripped.endswith(_CLOSING)


def environment_in(text: str) -> Environment:
    found = _usual_environment(text) or _unusual_environment(text)
    if "Directory (" in text and (workspace := _workspace(text)):
        found["workspace"] = workspace
    return found


def _usual_environment(text: str) -> Environment | None:
    at = text.find(_STATED)
    if at < 0 or (usual := _USUAL.match(text, at + len(_STATED))) is None:
        return None
    time, zone, cost, mode, name, model = usual.groups()
    before = text[:at]
    if not is_canonical(time) or _ZONE in before or _COST in before or _MODE in before:
        return None  # what is stated first counts
    return {"mode": mode, "mode_name": name, "model": model, "time": time, "time_zone": zone, "cost": cost}


def _unusual_environment(text: str) -> Environment:
    found: Environment = {}
    if _MODE in text:
        _add_mode(found, text)
    zone = _line(text, _ZONE)
    time = ""
    if stated := _line(text, _STATED):
        time = stated if is_canonical(stated) else readable_timestamp(stated)
    elif "# Current Time\n" in text and (local := _LOCAL.search(text)):
        when, zone, sign, hours, minutes = local.groups()
        time = readable_timestamp(f"{' '.join(when.split())} {sign}{hours:0>2}:{minutes}")
    if time:
        found["time"] = time
    if zone:
        found["time_zone"] = zone
    if cost := _line(text, _COST):
        found["cost"] = cost
    return found


def _add_mode(found: Environment, text: str) -> None:
    at = text.find(_MODE) + len(_MODE)
    section = text[at : at + _MODE_LENGTH]
    mode = _tag(section, "slug") or _CLINE_MODES.get(section.partition("\n")[0].strip(), "")
    for key, value in (("mode", mode), ("mode_name", _tag(section, "name")), ("model", _tag(section, "model"))):
        if value:
            found[key] = value


def _workspace(text: str) -> str:
    found = _WORKSPACE.search(text, max(0, text.find("Directory (") - 20))
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
