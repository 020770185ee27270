"""The storage of Roo Code: a folder a task, older ones with calls as tags in the text, newer ones with native calls.

    rooveterinaryinc.roo-cline/tasks/<uuid>/api_conversation_history.json    what was sent and answered
    rooveterinaryinc.roo-cline/tasks/<uuid>/ui_messages.json                 what was shown; most bytes of older tasks
    rooveterinaryinc.roo-cline/tasks/<uuid>/task_metadata.json               the files that were read and changed
    rooveterinaryinc.roo-cline/tasks/<uuid>/history_item.json                of newer tasks: their row of the index
    rooveterinaryinc.roo-cline/tasks/_index.json                             the index

The files of a task come to 50 KB to 5 MB.
"""

from pathlib import Path

from prose import Prose
from roo_code.task import Task
from trees import Truth, sizes, write

__all__ = ["generate_tree"]

SMALLEST_BYTES, LARGEST_BYTES = 50_000, 5_000_000


def generate_tree(folder: Path, megabytes: float, prose: Prose) -> Truth:
    truth, rng = Truth(), prose.rng
    tasks = folder / "rooveterinaryinc.roo-cline" / "tasks"
    index = []
    now_ms = 1_757_000_000_000
    for size in sizes(rng, truth, int(megabytes * 1_000_000), SMALLEST_BYTES, LARGEST_BYTES):
        task = Task(prose, truth, now_ms, len(index) + 1, has_native_calls=rng.random() < 0.5)
        task.fill(size)
        place = tasks / task.task_id
        write(place / "api_conversation_history.json", task.history, truth)
        write(place / "ui_messages.json", task.shown, truth)
        write(place / "task_metadata.json", {"files_in_context": task.files}, truth, is_indented=True)
        index.append(task.row())
        if task.has_native_calls:
            write(place / "history_item.json", index[-1], truth, is_indented=True)
        now_ms = task.now_ms + rng.randrange(60_000, 20_000_000)
    write(tasks / "_index.json", {"version": 1, "updatedAt": now_ms, "entries": index}, truth)
    return truth
