"""Who wrote a message of the SDK: most with the role `user` were typed by no person.

The runtime wraps what a person types in `<user_input mode="act">`, a command in `<user_command slash="…">`; it puts
`<mode_notice>` before a message when the mode was switched, and `<SYSTEM_NOTICE>` where it left out earlier messages.
What it says itself it marks with a `kind` in the message's own `metadata`.
"""

import re
from typing import Any

from palaver.model.build import JsonObject

_OF_THE_RUNTIME = frozenset(
    {
        *("auto_compaction", "compaction_budget_emergency", "compaction_summary", "completion_reminder"),
        *("loop_detection_notice", "manual_compaction", "mistake_stop_notice", "recovery_notice"),
    }
)
_NOT_SPOKEN = frozenset({"system", "status", "error"})
_NOTICES = (("<mode_notice>", "</mode_notice>"), ("<SYSTEM_NOTICE>", "</SYSTEM_NOTICE>"))
_WRAPPER = re.compile(r"</?user_(?:input|command)\b[^<>]*>")
_MODE = re.compile(r'<user_input\b[^<>]*\bmode="(act|plan|yolo)"')
_CONTINUED = "The user approved switching to act mode. Continue with the approved plan now."
_RESUMED = "[TASK RESUMPTION]"


def author_of(role: str, content: list[JsonObject], metadata: Any, *, is_sidechain: bool) -> str:
    """`human`, `model`, `tool` or `harness`; what is said to an agent is said by the model that started it."""
    if role != "user":
        return "tool" if role in {"tool", "function"} else "harness" if role == "system" else "model"
    if metadata is not None and _is_of_the_runtime(metadata):
        return "harness"
    has_result = False
    for block in content:
        kind = block["type"]
        if kind == "tool_result":
            has_result = True
        elif kind != "text" or is_typed(block["text"]):
            return "model" if is_sidechain else "human"
    return "tool" if has_result else "harness"


def is_typed(text: str) -> bool:
    """Whether somebody said something, apart from what the runtime says in his name."""
    words = typed_words(text)
    return bool(words) and words != _CONTINUED and not words.startswith(_RESUMED)


def typed_words(text: str) -> str:
    """A text without what the runtime puts around and before it."""
    if "<" not in text:
        return text.strip()
    for begin, end in _NOTICES:
        if begin in text:
            text = _without(text, begin, end)
    if "<user_" in text or "</user_" in text:
        text = _WRAPPER.sub("", text)
    return text.strip()


def _without(text: str, begin: str, end: str) -> str:
    pieces: list[str] = []
    at = 0
    while (start := text.find(begin, at)) >= 0 and (stop := text.find(end, start)) >= 0:
        pieces.append(text[at:start])
        at = stop + len(end)
    return "".join((*pieces, text[at:]))


def mode_of(content: list[JsonObject]) -> str | None:
    """The mode that a message was sent in."""
    for block in content:
        if block["type"] == "text" and "<user_input" in block["text"] and (found := _MODE.search(block["text"])):
            return found[1]
    return None


def _is_of_the_runtime(metadata: Any) -> bool:
    if not isinstance(metadata, dict):
        return False
    kind, shown_as = metadata.get("kind"), metadata.get("displayRole")
    if kind == "compaction":
        return False  # a message of a person, to which the runtime added what it left out behind it
    return (isinstance(kind, str) and kind in _OF_THE_RUNTIME) or (
        isinstance(shown_as, str) and shown_as in _NOT_SPOKEN
    )
