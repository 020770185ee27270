"""A task's document: everything but its messages, from what they, the side files and the storage say."""

from palaver.importers._cline_family.about import About
from palaver.importers._cline_family.system_prompt import instructions
from palaver.importers._cline_family.task import Task, time_of
from palaver.model import build
from palaver.model.build import JsonObject

_TITLE_LENGTH = 100
_STATUSES = ("active", "completed", "archived", "error")
_MAPPED = frozenset({"id", "workspace", "cwdOnTaskInitialization", "mode", "status", "modelId"})


def document(task: Task, about: About, *, is_final: bool) -> JsonObject:
    """The document of the messages that were not handed out yet."""
    messages, task.messages = task.messages, []
    fragment = None
    if task.sequence or not is_final:
        fragment = {"sequence": task.sequence, "final": is_final, "start": task.position}
    task.sequence += 1
    task.position += len(messages)
    return build.conversation(
        conversation_id=task.task_id,
        title=_title(task, about),
        platform=_platform(task, about),
        session=_session(task, about),
        context=_context(task, about),
        created_at=_created_at(task),
        updated_at=task.updated_at or None,
        status=_status(about),
        messages=messages,
        summaries=task.summaries or None,
        fragment=fragment,
    )


def begun_at(task_id: str) -> str:
    """When a task was begun, as an id that is a time says; empty for others."""
    is_time = task_id.isascii() and task_id.isdecimal() and len(task_id) == 13
    return time_of(int(task_id)) if is_time else ""


def _created_at(task: Task) -> str:
    return min(filter(None, (begun_at(task.task_id), task.created_at)), default="") or task.written_at()


def _title(task: Task, about: About) -> str | None:
    for words in (about.stated("task"), task.first_words, about.stated("title")):
        for line in words.split("\n"):
            if title := " ".join(line.split()).lstrip("# "):
                return title[:_TITLE_LENGTH]
    return None


def _platform(task: Task, about: About) -> JsonObject:
    platform: JsonObject = {"name": task.platform}
    version = about.last("environment_history").get("cline_version")
    if isinstance(version, str) and version:
        platform["version"] = version
    model = max(task.models, key=lambda name: task.models[name]) if task.models else ""
    used = about.last("model_usage").get("model_id")
    for name in (model, about.stated("modelId"), used, task.turn_model):
        if isinstance(name, str) and name:
            platform["model"] = name
            break
    if metadata := _about_modes(task, about) | _about_item(task, about):
        platform["metadata"] = metadata
    return platform


def _about_modes(task: Task, about: About) -> JsonObject:
    stated = about.stated("mode")
    used = about.last("model_usage").get("mode")
    mode = stated or task.mode or (used if isinstance(used, str) else "")
    found: JsonObject = {}
    if mode:
        found["mode"] = mode
        found["active_mode"] = task.mode or mode
    own = [slug for entry in about.modes if isinstance((slug := entry.get("slug")), str)]
    if available := list(dict.fromkeys([*task.modes, *((mode,) if mode else ()), *own])):
        found["available_modes"] = available
    if stated and "mode" in about.item:
        found["mode_persistence"] = True  # a task whose item names a mode goes on in it when it is resumed
    return found


def _about_item(task: Task, about: About) -> JsonObject:
    """What the history item says of the task, but for what has a place elsewhere."""
    rest = {name: value for name, value in about.item.items() if name not in _MAPPED and value is not None}
    if isinstance((words := rest.get("task")), str) and words.strip() == task.first_words.strip():
        del rest["task"]
    if about.stated("status") not in _STATUSES and about.item.get("status") is not None:
        rest["status"] = about.item["status"]
    return {"history_item": rest} if rest else {}


def _session(task: Task, about: About) -> JsonObject:
    session: JsonObject = {"session_id": task.task_id}
    if parent := about.stated("parentTaskId"):
        session["parent_conversation_id"] = parent
        session["is_sidechain"] = True
    return session


def _status(about: About) -> build.Status | None:
    status = about.stated("status")
    if status in _STATUSES:
        return status
    return "active" if status == "delegated" else None


def _context(task: Task, about: About) -> JsonObject | None:
    context: JsonObject = {}
    if path := about.stated("workspace", "cwdOnTaskInitialization") or task.workspace:
        context["workspace"] = {"path": path}
    if environment := _environment(about):
        context["environment"] = environment
    custom: JsonObject = {}
    if words := instructions(task, about):
        custom["custom_instructions"] = words
    if task.time_zone:
        custom["time_zone"] = task.time_zone
    if about.metadata:
        custom["task_metadata"] = about.metadata
    custom |= about.custom
    if custom:
        context["custom"] = custom
    return context or None


def _environment(about: About) -> JsonObject:
    last = about.last("environment_history")
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
