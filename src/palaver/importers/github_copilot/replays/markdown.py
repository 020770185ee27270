"""Log entries displayed as Markdown, parsed back into entries as far as possible.

The fences around texts do not grow with their content, so a message ends at the fence that is followed by a heading.
Line breaks in call arguments are written literally, which is not valid JSON.
"""

import json
import re
from typing import Any

from palaver.model.build import JsonObject

_ROLES = {"system": 0, "user": 1, "assistant": 2, "tool": 3}
_TITLE = re.compile(r"^# (.+) - (\S+)$", re.MULTILINE)
_FIELD = re.compile(r"^([A-Za-z][A-Za-z ]{0,30}?) *: (.*)$", re.MULTILINE)
_SECTION = re.compile(
    r"^## (Metadata|Request Messages|Prediction|Response(?: \(truncated\))?|FAILED: .*|CANCELED|Request|Thinking)$",
    re.MULTILINE,
)
_MESSAGE = re.compile(r"^### ([A-Z][a-z]+)\n(~~~md|`{3,}[a-z]*)\n", re.MULTILINE)
_CALL = re.compile(r"^🛠️ (\S+) \(([^()\n]+)\) ?", re.MULTILINE)
_CACHE = "\n[copilot_cache_control: { type: 'ephemeral' }]"
_MARKER = re.compile(r"\n\[response_id: (\S+) with ([^\]\n]*)\]$")
_STYLE = "\n<style>\n"
_ANCHOR = re.compile(r'^<a id="response"></a>\n(?=## (?:FAILED: |CANCELED|Response))', re.MULTILINE)
_TOOL_FIELDS = re.compile(r"id *: (?P<id>[^\n]*)\ntool *: (?P<tool>[^\n]*)\nargs *: (?P<args>.*)", re.DOTALL)
_SECTION_ENDS = ("~~~", "```", "</code></pre>", "(#response)")
_FRAME_PREFIXES = ("> ", "# ", "- [", "  - [")
"""Starts of lines that every file has."""


def parse_entry(text: str, stem: str) -> JsonObject | None:
    """Return the entry that a file shows; None for model lists, rules, and other notes."""
    sections = _sections(text)
    if "Request Messages" in sections or ("Response" in sections and "Request" not in sections):
        log = _request(sections, *_title(text, stem))
    elif "Request" in sections:
        log = _tool(sections, _title(text, stem)[1])
    else:
        return None
    if unread := "\n".join(line for line in sections[""].split("\n") if not line.startswith(_FRAME_PREFIXES)).strip():
        log["unread"] = "\n".join(part for part in (unread, log.get("unread")) if part)
    return log


def _title(text: str, stem: str) -> tuple[str, str]:
    found = _TITLE.search(text)
    return (found[1], found[2]) if found else (stem, stem or "unknown")


def _request(sections: dict[str, str], name: str, entry_id: str) -> JsonObject:
    before, messages = _messages(sections.get("Request Messages", ""))
    log: JsonObject = {
        "id": entry_id,
        "kind": "request",
        "type": "ChatMLSuccess",
        "name": name,
        "metadata": _metadata(sections.get("Metadata", "")),
        "requestMessages": {"messages": [_message(role, text) for role, text in messages]},
    }
    if before.strip():
        log["unread"] = before.strip()
    if "Prediction" in sections:
        log["requestMessages"]["prediction"] = sections["Prediction"].strip()
    for heading, text in sections.items():
        _add_response(heading, text, log)
    return log


def _tool(sections: dict[str, str], entry_id: str) -> JsonObject:
    request = _unfenced(sections["Request"])
    log: JsonObject = {"kind": "toolCall", "id": entry_id, "tool": "unknown", "args": request}
    if fields := _TOOL_FIELDS.match(request):
        log |= {"id": fields["id"].strip() or entry_id, "tool": fields["tool"], "args": _arguments(fields["args"])}
    if "Response" in sections:
        log["response"] = _fenced_pieces(sections["Response"])
    if "Thinking" in sections:
        before, _, _ = sections["Thinking"].partition("~~~")
        name = before.strip().removeprefix("thinkingId:").strip()
        log["thinking"] = {**({"id": name} if name else {}), "text": _unfenced(sections["Thinking"][len(before) :])}
    return log


def _sections(text: str) -> dict[str, str]:
    """Return the text under each second-level heading, and the text before them under ""."""
    text = _ANCHOR.sub("", text.partition(_STYLE)[0] if text.rstrip().endswith("</style>") else text)
    headings = _headings(_SECTION, text)
    found: dict[str, list[str]] = {"": [text[: headings[0].start()] if headings else text]}
    for heading, section in _with_text(headings, text):
        found.setdefault(heading[1], []).append(section.removeprefix("\n"))
    return {heading: "".join(parts) for heading, parts in found.items()}


def _with_text(headings: list[re.Match[str]], text: str) -> list[tuple[re.Match[str], str]]:
    """Return each heading with the text up to the next."""
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return [(heading, text[heading.end() : end]) for heading, end in zip(headings, ends, strict=False)]


def _headings(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the headings at the start or after the end of a section, not those within a fenced text."""
    third_line = text.find("\n", text.find("\n") + 1)
    found: list[re.Match[str]] = []
    for heading in pattern.finditer(text):
        end = heading.start()
        while end and text[end - 1].isspace():
            end -= 1
        if third_line < 0 or end <= third_line or text.endswith(_SECTION_ENDS, 0, end):
            found.append(heading)
    return found


def _metadata(section: str) -> JsonObject:
    """Return the fields of a request, named as in the JSON log."""
    section = section.partition("<pre><code>")[2].rpartition("</code></pre>")[0] or section
    section, tools = _without_tools(section)
    found: JsonObject = {}
    for field in _FIELD.finditer(section):
        name = "resolvedModel" if field[1] == "resolved model" else field[1].strip()
        found[name] = _value(name, field[2].strip())
    if tools:
        found["tools"] = _parsed(tools)
    return {name: value for name, value in found.items() if value != "undefined"}


def _without_tools(section: str) -> tuple[str, str]:
    """Return the metadata without the collapsible list of tools, and that list."""
    before, _, folded = section.partition("<summary>tools")
    _, _, inside = folded.partition("</summary>")
    tools, end, after = inside.partition("\n</details>")
    return (before + after, tools) if end else (section, "")


def _value(name: str, text: str) -> Any:
    if name in {"duration", "timeToFirstToken"} and text.removesuffix("ms").isdigit():
        return int(text.removesuffix("ms"))
    if name in {"usage", "otherOptions", "reasoning"} or text.isdigit():
        return _parsed(text)
    return text


def _messages(section: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text before the first message, and the roles and texts of the messages."""
    headings = _headings(_MESSAGE, section)
    before = section[: headings[0].start()] if headings else section
    return before, [
        (heading[1].lower(), _without_closing_fence(text)) for heading, text in _with_text(headings, section)
    ]


def _message(role: str, text: str) -> JsonObject:
    message: JsonObject = {"role": _ROLES.get(role, role)}
    parts: list[Any] = []
    if marker := _MARKER.search(text):
        text = text[: marker.start()]
        parts.append(
            {"type": 2, "value": {"type": "stateful_marker", "value": {"marker": marker[1], "modelId": marker[2]}}}
        )
    if text.endswith(_CACHE):
        text = text.removesuffix(_CACHE)
    if role == "tool" and text.startswith("🛠️ "):
        name, _, text = text.removeprefix("🛠️ ").partition("\n")
        message["toolCallId"] = name
    if role == "assistant":
        text, calls = _calls(text)
        if calls:
            message["toolCalls"] = calls
    message["content"] = [{"type": 1, "text": text}, *parts]
    return message


def _calls(text: str) -> tuple[str, list[JsonObject]]:
    """Return the text of an answer, and the calls after it."""
    headings = list(_CALL.finditer(text))
    if not headings:
        return text, []
    calls: list[JsonObject] = [
        {"id": heading[2], "type": "function", "function": {"name": heading[1], "arguments": _arguments(arguments)}}
        for heading, arguments in _with_text(headings, text)
    ]
    return text[: headings[0].start()].removesuffix("\n"), calls


def _add_response(heading: str, section: str, log: JsonObject) -> None:
    if heading.startswith("FAILED: "):
        log |= {"type": "ChatMLFailure", "response": {"type": "failure", "reason": heading.removeprefix("FAILED: ")}}
    elif heading == "CANCELED":
        log |= {"type": "ChatMLCancelation", "response": {"type": "canceled"}}
    elif heading.startswith("Response"):
        before, found = _messages(section)
        answer, calls = _calls("\n".join(text for _, text in found)) if found else ("", [])
        answer = "\n".join(part for part in (before.strip(), answer) if part)
        kind = "truncated" if heading.endswith("(truncated)") else "success"
        log["response"] = {"type": kind, "message": answer, **({"toolCalls": calls} if calls else {})}


def _arguments(text: str) -> Any:
    """Return arguments as valid JSON if literal line breaks are their only fault, else unchanged."""
    parsed = _parsed(text.strip())
    return json.dumps(parsed) if isinstance(parsed, dict) else text.strip()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


def _fenced_pieces(section: str) -> list[str]:
    """Return the texts of consecutive fences."""
    body = section.strip("\n")
    pieces = re.split(r"\n~~~\n~~~\n", body)
    return [_unfenced(piece) for piece in pieces] if body else []


def _unfenced(text: str) -> str:
    text = text.strip("\n")
    return text.removeprefix("~~~").removeprefix("\n").removesuffix("~~~").removesuffix("\n")


def _without_closing_fence(text: str) -> str:
    """Return a text without the fence that closes it."""
    text = text.rstrip("\n ")
    if text.endswith("~~~"):
        return text.removesuffix("~~~").removesuffix("\n")
    opened = text.rstrip("`")
    return opened.removesuffix("\n") if len(text) - len(opened) >= len("```") else text
