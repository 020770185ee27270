"""The messages of a conversation: which fields a node has, in which order, and what each kind of answer says of itself.

Since the autumn of 2025 everything that one prompt set off shares a `turn_exchange_id`, request ids are UUIDs, and most
answers are led by hidden nodes and thoughts.
"""

from dataclasses import dataclass
from typing import Any

from prose import Prose

Record = dict[str, Any]

ROOT = "client-created-root"
HIDDEN = {"is_visually_hidden_from_conversation": True}


@dataclass(frozen=True, kw_only=True)
class Era:
    begins_s: int
    models: tuple[str, ...]
    default_model: str
    is_late: bool


DAYS_S = 86_400
ERAS = [
    Era(begins_s=1_712_000_000, models=("gpt-4", "gpt-4o", "gpt-4o-mini"), default_model="gpt-4o", is_late=False),
    Era(begins_s=1_757_000_000, models=("gpt-5-1", "gpt-5-t-mini", "gpt-5-mini"), default_model="auto", is_late=True),
]
LEAN_ERA = Era(begins_s=1_781_000_000, models=("gpt-5-5", "gpt-5-5-mini"), default_model="gpt-5-5", is_late=True)

THRESHOLDS = {"simple_search_threshold": 0.0, "complex_search_threshold": 0.4, "no_search_threshold": 0.12}
ORDER = ["no_search", "complex", "simple"]
CLASSIFIER = {
    "model_name": "snc-pg-sw-3cls-ev3",
    "renderer_name": "harmony_v4.0.15_16k_orion_text_only_no_asr_2k_action",
    "classifier_config_name": "sonic_classifier_3cls_ev3",
    "model_config_name": "sonic_classifier_extra_multilingual_chat_config",
    "disable_sonic_prefetch_classifier": False,
    "force_disabled_rate": 0.0,
    "force_enabled_rate": 0.0,
    "num_messages": 20,
    "only_user_messages": False,
    "remove_memory": True,
    "support_mm": True,
    "n_ctx": 2048,
    "max_action_length": 4,
    "dynamic_set_max_message_size": False,
    "max_message_tokens": 2000,
    "append_base_config": False,
    "no_search_token": "1",
    "simple_search_token": "7",
    "complex_search_token": "5",
    **THRESHOLDS,
    "prefetch_threshold": None,
    "force_search_first_turn_threshold": 1e-05,
    "threshold_order": ORDER,
    "passthrough_tool_calls": None,
    "timeout": 1.0,
}


class Tree:
    """The nodes of one conversation; `leaf` is the one that the next message hangs on."""

    def __init__(self, era: Era, prose: Prose) -> None:
        self.era, self.prose, self.rng = era, prose, prose.rng
        self.nodes: Record = {ROOT: {"id": ROOT, "message": None, "parent": None, "children": []}}
        self.leaf = ROOT
        self.model = self.rng.choice(era.models)
        self.now_s = era.begins_s + self.rng.random() * 90 * DAYS_S
        self.message_type = "next"
        self._request_id = self._exchange_id = ""

    def begin_turn(self) -> None:
        self.now_s += 20 + self.rng.expovariate(1 / 200)
        self._exchange_id = self.prose.uuid()
        bits = self.rng.getrandbits(64)
        self._request_id = self.prose.uuid() if self.era.is_late else f"{bits:016x}-IAD"

    def add(
        self,
        author: Record,
        content: Record,
        metadata: Record,
        *,
        recipient: str = "all",
        channel: str | None = None,
        end_turn: bool | None = None,
        weight: float = 1.0,
        is_timed: bool = True,
    ) -> str:
        node_id, parent = self.prose.uuid(), self.leaf
        self.now_s += self.rng.random() * 3
        message = {
            "id": node_id,
            "author": author,
            "create_time": round(self.now_s, 3 if author["role"] == "user" else 6) if is_timed else None,
            "update_time": round(self.now_s + 9, 6) if channel else None,
            "content": content,
            "status": "finished_successfully",
            "end_turn": end_turn,
            "weight": weight,
            "metadata": metadata,
            "recipient": recipient,
            "channel": channel if self.era.is_late else None,
        }
        self.nodes[node_id] = {"id": node_id, "message": message, "parent": parent, "children": []}
        self.nodes[parent]["children"].append(node_id)
        self.leaf = node_id
        return node_id

    def hide(self, content: Record, metadata: Record, role: str = "system", *, is_timed: bool = True) -> None:
        weight = 0.0 if role == "system" else 1.0
        self.add(author(role), content, metadata | HIDDEN, end_turn=True, weight=weight, is_timed=is_timed)

    def asked(self, own: Record) -> Record:
        """The metadata of a prompt."""
        if not self.era.is_late:
            return own | {"request_id": self._request_id, "timestamp_": "absolute", "message_type": None}
        return {
            "selected_github_repos": [],
            **own,
            "serialization_metadata": {"custom_symbol_offsets": []},
            "request_id": self._request_id,
            "message_source": None,
            "turn_exchange_id": self._exchange_id,
            "timestamp_": "absolute",
        }

    def answered(self, own: Record) -> Record:
        """The metadata of whatever the model or a tool said: its own, then what all of a turn repeat."""
        common: Record = {
            "request_id": self._request_id,
            "message_type": self.message_type,
            "model_slug": self.model,
            "default_model_slug": self.era.default_model,
            "parent_id": self.leaf,
        }
        if self.era.is_late:
            return own | common | {"turn_exchange_id": self._exchange_id, "timestamp_": "absolute"}
        return own | {"gizmo_id": None, "pad": "A" * 26} | common | {"timestamp_": "absolute"}

    def finished(self, **own: Any) -> Record:
        """The metadata of a text that the model brought to its end."""
        rng = self.rng
        metadata: Record = {"finish_details": {"type": "stop", "stop_tokens": [200002]}, "is_complete": True}
        if self.era.is_late and rng.random() < 0.15:
            metadata["sonic_classification_result"] = _classification(rng.random())
        return self.answered(metadata | {"citations": [], "content_references": []} | own)


def author(role: str, name: str | None = None, **metadata: str) -> Record:
    return {"role": role, "name": name, "metadata": metadata}


def text(words: str) -> Record:
    return {"content_type": "text", "parts": [words]}


def code(words: str, language: str = "unknown") -> Record:
    return {"content_type": "code", "language": language, "response_format_name": None, "text": words}


def _classification(chance: float) -> Record:
    return {
        "latency_ms": chance * 200,
        "simple_search_prob": chance / 3,
        "complex_search_prob": chance / 7,
        "no_search_prob": 1 - chance / 3 - chance / 7,
        "search_complexity_decision": "no_search",
        "search_decision": False,
        **THRESHOLDS,
        "threshold_order": ORDER,
        "classifier_config_name": "sonic_classifier_3cls_ev3",
        "classifier_config": CLASSIFIER,
        "classifier_snapshot_id": None,
        "decision_source": "classifier",
        "passthrough_tool_names": [],
    }
