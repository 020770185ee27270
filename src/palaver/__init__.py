"""Every AI conversation you ever had, in one validated archive.

>>> import palaver
>>> for conversation in palaver.read("session.jsonl"):
...     print(conversation.title, len(conversation.messages))

`docs/library.md` describes every name in `__all__`; all others may change with any version.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Conversation",
    "Converted",
    "StreamRecorder",
    "ValidationResult",
    "__version__",
    "build",
    "calculate_cost",
    "compose",
    "convert",
    "deterministic_uuid",
    "is_duplicate",
    "message_hash",
    "normalize_content",
    "normalize_timestamp",
    "read",
    "validate",
    "wire",
]

if TYPE_CHECKING:
    from palaver import wire
    from palaver.api.conversations import ValidationResult, calculate_cost, is_duplicate, message_hash, read, validate
    from palaver.model import build, compose
    from palaver.model.conversation import Conversation
    from palaver.model.ids import deterministic_uuid
    from palaver.model.timestamps import normalize_timestamp
    from palaver.streams.recorder import StreamRecorder
    from palaver.validation.coercion import normalize_content
    from palaver.workflows.convert import Converted, convert

_MODULES = {"build": "palaver.model.build", "compose": "palaver.model.compose", "wire": "palaver.wire"}
_PLACES = {
    "Conversation": "palaver.model.conversation",
    "Converted": "palaver.workflows.convert",
    "StreamRecorder": "palaver.streams.recorder",
    "convert": "palaver.workflows.convert",
    "deterministic_uuid": "palaver.model.ids",
    "normalize_content": "palaver.validation.coercion",
    "normalize_timestamp": "palaver.model.timestamps",
}


def __getattr__(name: str) -> Any:
    # Nothing heavy is imported before it is used: `palaver --help` passes through here.
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in __all__:
        return getattr(import_module(_PLACES.get(name, "palaver.api.conversations")), name)
    raise AttributeError(f"module 'palaver' has no attribute {name!r}")
