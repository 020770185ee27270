"""An entry of the log as the editor shows it: Markdown, read back into an entry as far as that can be done.

Texts stand between fences that do not grow with what is in them, so a message ends at the fence behind which something
else begins. Breaks of lines in the arguments of calls are written as they are, which JSON does not allow.
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
_ASKED = re.compile(r"id *: (?P<id>[^\n]*)\ntool *: (?P<tool>[^\n]*)\nargs *: (?P<args>.*)", re.DOTALL)
_ENDS = ("~~~", "```", "</code></pre>", "(#response)")
_FRAME = ("> ", "# ", "- [", "  - [")
"""How lines begin that stand in every file."""


def entry_in(text: str, stem: str) -> JsonObject | None:
    """The entry that a file shows; None for lists of models, rules, and other notes."""
    sections = _sections(text)
    if "Request Messages" in sections or ("Response" in sections and "Request" not in sections):
        log = _request(sections, *_title(text, stem))
    elif "Request" in sections:
        log = _tool(sections, _title(text, stem)[1])
    else:
        return None
    if unread := "\n".join(line for line in sections[""].split("\n") if not line.startswith(_FRAME)).strip():
        log["unread"] = "\n".join(one for one in (unread, log.get("unread")) if one)
    return log


def _title(text: str, stem: str) -> tuple[str, str]:
    found = _TITLE.search(text)
    return (found[1], found[2]) if found else (stem, stem or "unknown")


def _request(sections: dict[str, str], name: str, entry_id: str) -> JsonObject:
    """A request with its answer."""
    before, asked = _messages(sections.get("Request Messages", ""))
    log: JsonObject = {
        "id": entry_id,
        "kind": "request",
        "type": "ChatMLSuccess",
        "name": name,
        "metadata": _metadata(sections.get("Metadata", "")),
        "requestMessages": {"messages": [_message(role, said) for role, said in asked]},
    }
    if before.strip():
        log["unread"] = before.strip()
    if "Prediction" in sections:
        log["requestMessages"]["prediction"] = sections["Prediction"].strip()
    for heading, said in sections.items():
        _take_answer(heading, said, log)
    return log


def _tool(sections: dict[str, str], entry_id: str) -> JsonObject:
    """A call of a tool with its result."""
    asked = _unfenced(sections["Request"])
    log: JsonObject = {"kind": "toolCall", "id": entry_id, "tool": "unknown", "args": asked}
    if fields := _ASKED.match(asked):
        log |= {"id": fields["id"].strip() or entry_id, "tool": fields["tool"], "args": _arguments(fields["args"])}
    if "Response" in sections:
        log["response"] = _fenced_pieces(sections["Response"])
    if "Thinking" in sections:
        before, _, _ = sections["Thinking"].partition("~~~")
        name = before.strip().removeprefix("thinkingId:").strip()
        log["thinking"] = {**({"id": name} if name else {}), "text": _unfenced(sections["Thinking"][len(before) :])}
    return log


def _sections(text: str) -> dict[str, str]:
    """What stands under each heading of the second level, before all under none; one within a fence is no heading."""
    text = _ANCHOR.sub("", text.partition(_STYLE)[0] if text.rstrip().endswith("</style>") else text)
    marks = _marks(_SECTION, text)
    found: dict[str, list[str]] = {"": [text[: marks[0].start()] if marks else text]}
    for mark, said in _between(marks, text):
        found.setdefault(mark[1], []).append(said.removeprefix("\n"))
    return {heading: "".join(parts) for heading, parts in found.items()}


def _between(marks: list[re.Match[str]], text: str) -> list[tuple[re.Match[str], str]]:
    """Marks, each with what follows it up to the next."""
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(mark, text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)]


def _marks(heading: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Headings that stand behind the end of something, or at the beginning, and not in a text."""
    third_line = text.find("\n", text.find("\n") + 1)
    found: list[re.Match[str]] = []
    for mark in heading.finditer(text):
        end = mark.start()
        while end and text[end - 1].isspace():
            end -= 1
        if third_line < 0 or end <= third_line or text.endswith(_ENDS, 0, end):
            found.append(mark)
    return found


def _metadata(section: str) -> JsonObject:
    """The fields of a request, by the names that the log has for them."""
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
    """The metadata without the list of tools that can be unfolded in them, and that list."""
    before, _, folded = section.partition("<summary>tools")
    _, _, inside = folded.partition("</summary>")
    tools, end, behind = inside.partition("\n</details>")
    return (before + behind, tools) if end else (section, "")


def _value(name: str, text: str) -> Any:
    if name in {"duration", "timeToFirstToken"} and text.removesuffix("ms").isdigit():
        return int(text.removesuffix("ms"))
    if name in {"usage", "otherOptions", "reasoning"} or text.isdigit():
        return _parsed(text)
    return text


def _messages(section: str) -> tuple[str, list[tuple[str, str]]]:
    """What stands before the first message, and the messages with their roles."""
    marks = _marks(_MESSAGE, section)
    before = section[: marks[0].start()] if marks else section
    return before, [(mark[1].lower(), _unclosed(said)) for mark, said in _between(marks, section)]


def _message(role: str, said: str) -> JsonObject:
    message: JsonObject = {"role": _ROLES.get(role, role)}
    parts: list[Any] = []
    if marker := _MARKER.search(said):
        said = said[: marker.start()]
        parts.append(
            {"type": 2, "value": {"type": "stateful_marker", "value": {"marker": marker[1], "modelId": marker[2]}}}
        )
    if said.endswith(_CACHE):
        said = said.removesuffix(_CACHE)
    if role == "tool" and said.startswith("🛠️ "):
        name, _, said = said.removeprefix("🛠️ ").partition("\n")
        message["toolCallId"] = name
    if role == "assistant":
        said, calls = _calls(said)
        if calls:
            message["toolCalls"] = calls
    message["content"] = [{"type": 1, "text": said}, *parts]
    return message


def _calls(said: str) -> tuple[str, list[JsonObject]]:
    """The words of an answer, and the calls behind them."""
    marks = list(_CALL.finditer(said))
    if not marks:
        return said, []
    calls: list[JsonObject] = [
        {"id": mark[2], "type": "function", "function": {"name": mark[1], "arguments": _arguments(given)}}
        for mark, given in _between(marks, said)
    ]
    return said[: marks[0].start()].removesuffix("\n"), calls


def _take_answer(heading: str, section: str, log: JsonObject) -> None:
    if heading.startswith("FAILED: "):
        log |= {"type": "ChatMLFailure", "response": {"type": "failure", "reason": heading.removeprefix("FAILED: ")}}
    elif heading == "CANCELED":
        log |= {"type": "ChatMLCancelation", "response": {"type": "canceled"}}
    elif heading.startswith("Response"):
        before, found = _messages(section)
        words, calls = _calls("\n".join(said for _, said in found)) if found else ("", [])
        words = "\n".join(one for one in (before.strip(), words) if one)
        kind = "truncated" if heading.endswith("(truncated)") else "success"
        log["response"] = {"type": kind, "message": words, **({"toolCalls": calls} if calls else {})}


def _arguments(text: str) -> Any:
    """Arguments as JSON, which they are again where only breaks of lines were put in."""
    parsed = _parsed(text.strip())
    return json.dumps(parsed) if isinstance(parsed, dict) else text.strip()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


def _fenced_pieces(section: str) -> list[str]:
    """The texts between fences, one behind the other."""
    body = section.strip("\n")
    pieces = re.split(r"\n~~~\n~~~\n", body)
    return [_unfenced(piece) for piece in pieces] if body else []


def _unfenced(text: str) -> str:
    text = text.strip("\n")
    return text.removeprefix("~~~").removeprefix("\n").removesuffix("~~~").removesuffix("\n")


def _unclosed(text: str) -> str:
    """A text without the fence behind it."""
    text = text.rstrip("\n ")
    if text.endswith("~~~"):
        return text.removesuffix("~~~").removesuffix("\n")
    opened = text.rstrip("`")
    return opened.removesuffix("\n") if len(text) - len(opened) >= len("```") else text
