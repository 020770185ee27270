"""One conversation of an export: its tree of nodes, all branches of it, and what is said about the whole."""

from collections.abc import Callable
from dataclasses import dataclass

from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.feedback import Feedback
from palaver.importers.chatgpt.message import Reader
from palaver.importers.chatgpt.nodes import Nodes
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run

PLATFORM = "chatgpt"

_MAPPED = frozenset({"mapping", "compared_conversation_id"})
_NUMBERS = (int, float)


@dataclass(slots=True)
class Surroundings:
    """What an export says beside its conversations."""

    assets: Assets
    feedback: Feedback
    shared: dict[str, list[JsonObject]]
    """By the conversation's id: under which links it was shared."""
    fallback_time: Callable[[], str]
    is_sharded: bool = False


def identity(raw: JsonObject) -> str:
    """A conversation's id: the service's own, else one that is always the same for the same content."""
    for name in ("conversation_id", "id"):
        if isinstance((found := raw.get(name)), str) and found:
            return found
    return conversation_uuid(PLATFORM, raw.get("create_time"), "-".join([str(raw.get("title")), *raw["mapping"]]))


def document(raw: JsonObject, around: Surroundings, run: Run, where: str) -> JsonObject:
    """The whole conversation; every node with a message is one message of it."""
    nodes = Nodes(raw["mapping"], run, where)
    conversation_id = identity(raw)
    created_at = readable_timestamp(raw.get("create_time")) or nodes.earliest() or around.fallback_time()
    nodes.settle(raw.get("current_node"), created_at)
    reader = Reader(run, around.assets, where)
    messages = reader.messages(nodes)
    around.feedback.give(conversation_id, messages)
    rating = around.feedback.rating(conversation_id)
    return build.conversation(
        conversation_id=conversation_id,
        title=title if isinstance((title := raw.get("title")), str) else None,
        platform={
            "name": PLATFORM,
            **_model(raw, reader.models),
            "metadata": _facts(raw, nodes, around, conversation_id),
        },
        session=_session(raw, reader.fork_point),
        created_at=created_at,
        updated_at=readable_timestamp(raw.get("update_time")) or None,
        status="archived" if raw.get("is_archived") is True else None,
        messages=messages,
        rating=rating,
    )


def _facts(raw: JsonObject, nodes: Nodes, around: Surroundings, conversation_id: str) -> JsonObject:
    """What is said about the whole and has no other place, or could not be brought to it."""
    facts: JsonObject = {"export_generation": _generation(nodes, around)}
    for name, value in raw.items():
        # Null, false and what is empty says nothing; zero does.
        if (value or value.__class__ in _NUMBERS) and name not in _MAPPED:
            facts[name] = value
    for name in ("id", "conversation_id"):
        if facts.get(name) == conversation_id:
            del facts[name]
    for name in ("create_time", "update_time"):
        if readable_timestamp(facts.get(name)):
            del facts[name]
        elif name in facts:
            nodes.note_bad_time(name, facts[name])
    if isinstance(facts.get("title"), str):
        del facts["title"]
    gizmo = raw.get("gizmo_id")
    if isinstance(gizmo, str) and gizmo:
        facts["project_id" if gizmo.startswith("g-p-") else "custom_gpt_id"] = facts.pop("gizmo_id")
    if nodes.beside:
        facts["nodes"] = nodes.beside
    if shared := around.shared.get(conversation_id):
        facts["shared"] = shared
    if elsewhere := around.feedback.left_of(conversation_id):
        facts["feedback"] = elsewhere
    return facts


def _model(raw: JsonObject, answered: dict[str, int]) -> JsonObject:
    """The model that answered most; `auto` is a choice and no model."""
    answered.pop(_CHOSEN_FOR_ME, None)
    if answered:
        return {"model": max(answered, key=lambda model: answered[model])}
    default = raw.get("default_model_slug")
    return {"model": default} if isinstance(default, str) and default not in {"", _CHOSEN_FOR_ME} else {}


_CHOSEN_FOR_ME = "auto"


def _generation(nodes: Nodes, around: Surroundings) -> str:
    for message in nodes.messages.values():
        if "weight" not in message and "status" not in message:
            return "lean"
        break
    return "sharded" if around.is_sharded else "classic"


def _session(raw: JsonObject, fork_point: str | None) -> JsonObject | None:
    """Where a conversation that was branched off from another one begins to be its own."""
    compared = raw.get("compared_conversation_id")
    if isinstance(compared, str) and compared:
        return {"parent_conversation_id": compared}
    return {"fork_point": fork_point} if fork_point else None
