"""Every AI conversation you ever had, in one validated archive.

>>> import palaver
>>> with palaver.Archive() as archive:
...     for hit in archive.search("tide table", since="last month"):
...         print(hit.title, hit.text)
>>> for conversation in palaver.read("session.jsonl"):
...     print(conversation.title, len(conversation.messages))

`docs/library.md` describes every name in `__all__`; all others may change with any version.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Archive",
    "Conversation",
    "ConversationList",
    "ConversationRow",
    "Converted",
    "Counts",
    "ExchangeLog",
    "ExportResult",
    "SearchHit",
    "SearchHits",
    "Statistics",
    "StreamRecorder",
    "TitleHit",
    "Tokens",
    "ValidationResult",
    "__version__",
    "build",
    "calculate_cost",
    "compose",
    "convert",
    "deterministic_uuid",
    "errors",
    "is_duplicate",
    "message_hash",
    "normalize_content",
    "normalize_timestamp",
    "read",
    "validate",
    "wire",
]

if TYPE_CHECKING:
    from palaver import errors, wire
    from palaver.api.archive import Archive
    from palaver.api.conversations import ValidationResult, calculate_cost, is_duplicate, message_hash, read, validate
    from palaver.api.exchange_log import ExchangeLog
    from palaver.api.results import (
        ConversationList,
        ConversationRow,
        Counts,
        ExportResult,
        SearchHit,
        SearchHits,
        Statistics,
        TitleHit,
        Tokens,
    )
    from palaver.model import build, compose
    from palaver.model.conversation import Conversation
    from palaver.model.ids import deterministic_uuid
    from palaver.model.timestamps import normalize_timestamp
    from palaver.streams.recorder import StreamRecorder
    from palaver.validation.coercion import normalize_content
    from palaver.workflows.convert import Converted, convert

_MODULES = {
    "build": "palaver.model.build",
    "compose": "palaver.model.compose",
    "errors": "palaver.errors",
    "wire": "palaver.wire",
}
_NAMES = {
    "palaver.api.archive": ("Archive",),
    "palaver.api.conversations": (
        *("ValidationResult", "calculate_cost", "is_duplicate", "message_hash", "read", "validate"),
    ),
    "palaver.api.exchange_log": ("ExchangeLog",),
    "palaver.api.results": (
        *("ConversationList", "ConversationRow", "Counts", "ExportResult", "SearchHit", "SearchHits", "Statistics"),
        *("TitleHit", "Tokens"),
    ),
    "palaver.model.conversation": ("Conversation",),
    "palaver.model.ids": ("deterministic_uuid",),
    "palaver.model.timestamps": ("normalize_timestamp",),
    "palaver.streams.recorder": ("StreamRecorder",),
    "palaver.validation.coercion": ("normalize_content",),
    "palaver.workflows.convert": ("Converted", "convert"),
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Nothing heavy is imported before it is used: `palaver --help` passes through here.
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'palaver' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
