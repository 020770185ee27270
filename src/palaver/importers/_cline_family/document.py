"""The document of a task: everything around its messages, and the system prompt before them.

No version saves the system prompt. It is rebuilt from the role definition and instructions of the user's custom mode
and the instructions for every task, or taken from a side file where another tool wrote it, whole or in parts
(`roleDefinition`, `toolDescriptions`, `customInstructions`).
"""

from palaver.importers._cline_family.task import Task, time_of
from palaver.importers._cline_family.task_info import TaskInfo
from palaver.model import build
from palaver.model.build import JsonObject

_PROMPT_PARTS = ("roleDefinition", "toolDescriptions", "customInstructions")
_PROMPT_FIELDS = ("system_prompt", "systemPrompt", "rooPrompt")


_TITLE_LENGTH = 100
_STATUSES = ("active", "completed", "archived", "error")
_MAPPED_ITEM_FIELDS = frozenset({"id", "workspace", "cwdOnTaskInitialization", "mode", "status", "modelId"})


def document(task: Task, info: TaskInfo, *, is_final: bool) -> JsonObject:
    """Return a document with the messages not emitted so far."""
    messages, task.messages = task.messages, []
    fragment = None
    if task.sequence or not is_final:
        fragment = {"sequence": task.sequence, "final": is_final, "start": task.emitted_messages}
    task.sequence += 1
    task.emitted_messages += len(messages)
    return build.conversation(
        conversation_id=task.task_id,
        title=_title(task, info),
        platform=_platform(task, info),
        session=_session(task, info),
        context=_context(task, info),
        created_at=_created_at(task),
        updated_at=task.updated_at or None,
        status=_status(info),
        messages=messages,
        summaries=task.summaries or None,
        fragment=fragment,
    )


def start_time(task_id: str) -> str:
    """Return the time in a task id that is epoch milliseconds, or ""."""
    is_time = task_id.isascii() and task_id.isdecimal() and len(task_id) == 13
    return time_of(int(task_id)) if is_time else ""


def _created_at(task: Task) -> str:
    return min(filter(None, (start_time(task.task_id), task.created_at)), default="") or task.written_at()


def _title(task: Task, info: TaskInfo) -> str | None:
    for text in (info.first_text("task"), task.first_prompt, info.first_text("title")):
        for line in text.split("\n"):
            if title := " ".join(line.split()).lstrip("# "):
                return title[:_TITLE_LENGTH]
    return None


def _platform(task: Task, info: TaskInfo) -> JsonObject:
    platform: JsonObject = {"name": task.platform}
    version = info.last_entry("environment_history").get("cline_version")
    if isinstance(version, str) and version:
        platform["version"] = version
    model = max(task.models, key=lambda name: task.models[name]) if task.models else ""
    used = info.last_entry("model_usage").get("model_id")
    for name in (model, info.first_text("modelId"), used, task.turn_model):
        if isinstance(name, str) and name:
            platform["model"] = name
            break
    if metadata := _mode_metadata(task, info) | _item_metadata(task, info):
        platform["metadata"] = metadata
    return platform


def _mode_metadata(task: Task, info: TaskInfo) -> JsonObject:
    stated = info.first_text("mode")
    used = info.last_entry("model_usage").get("mode")
    mode = stated or task.mode or (used if isinstance(used, str) else "")
    found: JsonObject = {}
    if mode:
        found["mode"] = mode
        found["active_mode"] = task.mode or mode
    own = [slug for entry in info.modes if isinstance((slug := entry.get("slug")), str)]
    if available := list(dict.fromkeys([*task.modes, *((mode,) if mode else ()), *own])):
        found["available_modes"] = available
    if stated and "mode" in info.item:
        found["mode_persistence"] = True  # the item names a mode, so a resumed task continues in it
    return found


def _item_metadata(task: Task, info: TaskInfo) -> JsonObject:
    """Return the fields of the history item that are not mapped elsewhere."""
    rest = {name: value for name, value in info.item.items() if name not in _MAPPED_ITEM_FIELDS and value is not None}
    if isinstance((prompt := rest.get("task")), str) and prompt.strip() == task.first_prompt.strip():
        del rest["task"]
    if info.first_text("status") not in _STATUSES and info.item.get("status") is not None:
        rest["status"] = info.item["status"]
    return {"history_item": rest} if rest else {}


def _session(task: Task, info: TaskInfo) -> JsonObject:
    session: JsonObject = {"session_id": task.task_id}
    if parent := info.first_text("parentTaskId"):
        session["parent_conversation_id"] = parent
        session["is_sidechain"] = True
    return session


def _status(info: TaskInfo) -> build.Status | None:
    status = info.first_text("status")
    if status in _STATUSES:
        return status
    return "active" if status == "delegated" else None


def _context(task: Task, info: TaskInfo) -> JsonObject | None:
    context: JsonObject = {}
    if path := info.first_text("workspace", "cwdOnTaskInitialization") or task.workspace:
        context["workspace"] = {"path": path}
    if environment := _environment(info):
        context["environment"] = environment
    custom: JsonObject = {}
    if instructions := custom_instructions(task, info):
        custom["custom_instructions"] = instructions
    if task.time_zone:
        custom["time_zone"] = task.time_zone
    if info.metadata:
        custom["task_metadata"] = info.metadata
    custom |= info.custom
    if custom:
        context["custom"] = custom
    return context or None


def _environment(info: TaskInfo) -> JsonObject:
    last = info.last_entry("environment_history")
    found: JsonObject = {}
    system = [
        part for name in ("os_name", "os_version", "os_arch") if isinstance((part := last.get(name)), str) and part
    ]
    if system:
        found["os"] = " ".join(system)
    editor = [part for name in ("host_name", "host_version") if isinstance((part := last.get(name)), str) and part]
    if editor:
        found["editor"] = " ".join(editor)
    return found


def system_message(task: Task, info: TaskInfo) -> tuple[JsonObject, str] | None:
    """Return the message with the system prompt and its time ("" if unknown), or None if nothing is known of it."""
    mode = _mode(task, info)
    prompt = _stored_prompt(info)
    if prompt is None:
        prompt = {"mode": mode.get("slug"), "capabilities": mode.get("groups"), **mode}
        prompt["customInstructions"] = custom_instructions(task, info)
    parts = [text for name in _PROMPT_PARTS if isinstance((text := prompt.get(name)), str) and text.strip()]
    if not parts:
        return None
    metadata: JsonObject = {"author_kind": "harness"}
    for name, key in (("mode", "mode"), ("capabilities", "capabilities"), ("system_info", "systemInfo")):
        if prompt.get(key) is not None:
            metadata[name] = prompt[key]
    message = build.message(
        message_id=f"{task.task_id}:system",
        role="system",
        timestamp="",
        content=[build.text("\n\n".join(parts))],
        metadata=metadata,
    )
    return message, time_of(prompt.get("timestamp"))


def custom_instructions(task: Task, info: TaskInfo) -> str:
    """Return the user's instructions: those for every task, then those of the mode."""
    own = _mode(task, info).get("customInstructions")
    return "\n\n".join(text for text in (info.instructions, own) if isinstance(text, str) and text.strip())


def _mode(task: Task, info: TaskInfo) -> JsonObject:
    """Return the custom mode that the task started in, or {} if it is a built-in one."""
    slug = next(iter(task.modes), "") or info.first_text("mode")
    return next((mode for mode in info.modes if mode.get("slug") == slug), {})


def _stored_prompt(info: TaskInfo) -> JsonObject | None:
    for holder in (info.item, info.metadata, *(value for value in info.custom.values() if isinstance(value, dict))):
        for name in _PROMPT_FIELDS:
            match holder.get(name):
                case str(text) if text.strip():
                    return {"roleDefinition": text}
                case dict() as prompt if any(isinstance(prompt.get(part), str) for part in _PROMPT_PARTS):
                    return prompt
                case _:
                    pass
    return None
