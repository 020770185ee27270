"""The system prompt of a task: no version saves it, so it is put together from what is known of it elsewhere.

That is the role definition and the instructions of the user's own modes, the instructions for every task, or a prompt
that another tool put into a side file, in its parts (`roleDefinition`, `toolDescriptions`, `customInstructions`) or
whole.
"""

from palaver.importers._cline_family.about import About
from palaver.importers._cline_family.task import Task, time_of
from palaver.model import build
from palaver.model.build import JsonObject

_PARTS = ("roleDefinition", "toolDescriptions", "customInstructions")
_NAMES = ("system_prompt", "systemPrompt", "rooPrompt")


def system_message(task: Task, about: About) -> tuple[JsonObject, str] | None:
    """The one message that everything begins with, and its time; None where nothing is known of it."""
    mode = _mode(task, about)
    prompt = _stated(about)
    if prompt is None:
        prompt = {"mode": mode.get("slug"), "capabilities": mode.get("groups"), **mode}
        prompt["customInstructions"] = instructions(task, about)
    words = [text for name in _PARTS if isinstance((text := prompt.get(name)), str) and text.strip()]
    if not words:
        return None
    metadata: JsonObject = {"author_kind": "harness"}
    for name, key in (("mode", "mode"), ("capabilities", "capabilities"), ("system_info", "systemInfo")):
        if prompt.get(key) is not None:
            metadata[name] = prompt[key]
    message = build.message(
        message_id=f"{task.task_id}:system",
        role="system",
        timestamp="",
        content=[build.text("\n\n".join(words))],
        metadata=metadata,
    )
    return message, time_of(prompt.get("timestamp"))


def instructions(task: Task, about: About) -> str:
    """The user's instructions, those for every task before those of the mode."""
    own = _mode(task, about).get("customInstructions")
    return "\n\n".join(text for text in (about.instructions, own) if isinstance(text, str) and text.strip())


def _mode(task: Task, about: About) -> JsonObject:
    """The user's own mode that the task began in."""
    slug = next(iter(task.modes), "") or about.stated("mode")
    return next((mode for mode in about.modes if mode.get("slug") == slug), {})


def _stated(about: About) -> JsonObject | None:
    for holder in (about.item, about.metadata, *(one for one in about.custom.values() if isinstance(one, dict))):
        for name in _NAMES:
            match holder.get(name):
                case str(words) if words.strip():
                    return {"roleDefinition": words}
                case dict() as prompt if any(isinstance(prompt.get(part), str) for part in _PARTS):
                    return prompt
                case _:
                    pass
    return None
