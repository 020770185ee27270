"""Which of the products a task folder belongs to: by the path that it lies in, else by what its files hold."""

import re

from palaver.errors import PalaverError
from palaver.importers._cline_family.product import CLINE, KILO_CODE, ROO_CODE, Product, product_of_path
from palaver.importers._shared.contract import Match
from palaver.sources.source import Source

TASK = "task"

HISTORY = "api_conversation_history.json"
OLD_HISTORY = "claude_messages.json"
ROWS = "ui_messages.json"
METADATA = "task_metadata.json"
ITEM = "history_item.json"
SETTINGS = "settings.json"
SIDE_FILES = (METADATA, ITEM, "context_history.json", SETTINGS)
FOCUS_CHAIN = "focus_chain_taskid_"

_CONVERSATIONS = (HISTORY, OLD_HISTORY, ROWS)
_ONE_BLOCK = re.compile(rb"\"\[[a-z_]+(?: for '[^'\n]{0,400}')?\] Result:\\n[^\\]")
_CLINE_MARKS = (b'"modelInfo"', b"ACT MODE\\n", b"PLAN MODE\\n", b'"conversationHistoryIndex"', b'"cline_read_date"')
_KILO_MARKS = (b'"payment_required_prompt"', b'"unauthorized_prompt"', b'"promotion_model_sign_up_required_prompt"')
"""Questions that only this product asks."""


def recognize_task(source: Source, product: Product) -> Match:
    """Judge a task folder, or one of its two conversations that was pointed at alone."""
    if "/checkpoints/" in (label := f"{source.label}/".replace("\\", "/")) and "/tasks/" in label:
        return Match.no("a checkpoint of a task")
    folder = task_folder(source)
    if folder is None:
        return Match.no()
    files, _ = folder.listing()
    if owner_of(folder) is not product:
        return Match.no()
    members = tuple(name for name in files if is_member(name))
    size_bytes = sum(Source(folder.folder, name).size_bytes for name in members)
    if not source.is_folder:
        members = tuple(name for name in members if name != source.name.rpartition("/")[2])
    return Match.yes(f"a task of {product.title}", members, TASK, size_bytes)


def task_folder(source: Source) -> Source | None:
    """The task folder that a source is, or that it is a conversation of."""
    if not source.is_folder and source.file_name not in _CONVERSATIONS:
        return None
    folder = source if source.is_folder else source.above()
    if folder is None or not any(name in _CONVERSATIONS for name in folder.listing()[0]):
        return None
    return folder


def is_member(name: str) -> bool:
    return name in _CONVERSATIONS or name in SIDE_FILES or (name.startswith(FOCUS_CHAIN) and name.endswith(".md"))


def owner_of(folder: Source) -> Product:
    """The product whose task it is; what bears no mark of another one is taken for Roo Code's."""
    if product := product_of_path(folder.label):
        return product
    files, _ = folder.listing()
    history = next((name for name in (HISTORY, OLD_HISTORY) if name in files), "")
    told = {name: _head(folder, name) for name in (history, ROWS, METADATA) if name in files}
    everything = list(told.values())
    if any(mark in head for head in everything for mark in _KILO_MARKS):
        return KILO_CODE
    if ITEM in files or any(b"<slug>" in head for head in everything):
        return ROO_CODE
    if any(mark in head for head in everything for mark in _CLINE_MARKS):
        return CLINE
    if any(name.startswith(FOCUS_CHAIN) or name == "context_history.json" for name in files):
        return CLINE
    return CLINE if _ONE_BLOCK.search(told.get(history, b"")) else ROO_CODE


def _head(folder: Source, name: str) -> bytes:
    try:
        return Source(folder.folder, name).head()
    except (PalaverError, OSError):
        return b""
