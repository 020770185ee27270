"""The files of a task folder, and the product that it belongs to: by its path, else by the content of its files."""

import re

from palaver.errors import PalaverError
from palaver.importers._cline_family.product import CLINE, KILO_CODE, ROO_CODE, Product, product_of_path
from palaver.importers._shared.contract import Match
from palaver.sources.source import Source

TASK = "task"

HISTORY = "api_conversation_history.json"
OLD_HISTORY = "claude_messages.json"
UI_LOG = "ui_messages.json"
METADATA = "task_metadata.json"
HISTORY_ITEM = "history_item.json"
SETTINGS = "settings.json"
SIDE_FILES = (METADATA, HISTORY_ITEM, "context_history.json", SETTINGS)
FOCUS_CHAIN = "focus_chain_taskid_"

_CONVERSATION_FILES = (HISTORY, OLD_HISTORY, UI_LOG)
_CLINE_RESULT = re.compile(rb"\"\[[a-z_]+(?: for '[^'\n]{0,400}')?\] Result:\\n[^\\]")
_CLINE_SIGNATURES = (
    b'"modelInfo"',
    b"ACT MODE\\n",
    b"PLAN MODE\\n",
    b'"conversationHistoryIndex"',
    b'"cline_read_date"',
)
_KILO_SIGNATURES = (
    b'"payment_required_prompt"',
    b'"unauthorized_prompt"',
    b'"promotion_model_sign_up_required_prompt"',
)
"""Prompts of the UI log that only Kilo Code shows."""


def recognize_task(source: Source, product: Product) -> Match:
    """Recognize a task folder, or either of its conversation files given alone."""
    if "/checkpoints/" in (label := f"{source.label}/".replace("\\", "/")) and "/tasks/" in label:
        return Match.no("a checkpoint of a task")
    folder = task_folder(source)
    if folder is None:
        return Match.no()
    files, _ = folder.listing()
    if owning_product(folder) is not product:
        return Match.no()
    members = tuple(name for name in files if is_member(name))
    size_bytes = sum(Source(folder.folder, name).size_bytes for name in members)
    if not source.is_folder:
        members = tuple(name for name in members if name != source.name.rpartition("/")[2])
    return Match.yes(f"a task of {product.title}", members, TASK, size_bytes)


def task_folder(source: Source) -> Source | None:
    """Return the task folder that the source is or is a conversation file of, or None."""
    if not source.is_folder and source.file_name not in _CONVERSATION_FILES:
        return None
    folder = source if source.is_folder else source.parent_folder()
    if folder is None or not any(name in _CONVERSATION_FILES for name in folder.listing()[0]):
        return None
    return folder


def is_member(name: str) -> bool:
    return name in _CONVERSATION_FILES or name in SIDE_FILES or (name.startswith(FOCUS_CHAIN) and name.endswith(".md"))


def owning_product(folder: Source) -> Product:
    """Return the product that a task belongs to; Roo Code unless something identifies another one."""
    if product := product_of_path(folder.label):
        return product
    files, _ = folder.listing()
    history = next((name for name in (HISTORY, OLD_HISTORY) if name in files), "")
    heads = {name: _head(folder, name) for name in (history, UI_LOG, METADATA) if name in files}
    if any(signature in head for head in heads.values() for signature in _KILO_SIGNATURES):
        return KILO_CODE
    if HISTORY_ITEM in files or any(b"<slug>" in head for head in heads.values()):
        return ROO_CODE
    if any(signature in head for head in heads.values() for signature in _CLINE_SIGNATURES):
        return CLINE
    if any(name.startswith(FOCUS_CHAIN) or name == "context_history.json" for name in files):
        return CLINE
    return CLINE if _CLINE_RESULT.search(heads.get(history, b"")) else ROO_CODE


def _head(folder: Source, name: str) -> bytes:
    try:
        return Source(folder.folder, name).head()
    except (PalaverError, OSError):
        return b""
