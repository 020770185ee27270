"""Every AI conversation you ever had, in one validated archive.

>>> import palaver
>>> for conversation in palaver.read("session.jsonl"):
...     print(conversation.title, len(conversation.messages))
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Conversation", "ValidationResult", "__version__", "read", "validate"]

if TYPE_CHECKING:
    from palaver.api import ValidationResult, read, validate
    from palaver.model.conversation import Conversation


def __getattr__(name: str) -> Any:
    # Nothing heavy is imported before it is used: `palaver --help` passes through here.
    if name == "Conversation":
        from palaver.model.conversation import Conversation

        return Conversation
    if name in {"ValidationResult", "read", "validate"}:
        from palaver import api

        return getattr(api, name)
    raise AttributeError(f"module 'palaver' has no attribute {name!r}")
