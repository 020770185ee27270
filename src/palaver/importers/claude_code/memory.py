"""A project's memory: what Claude Code wrote down in `projects/<folder>/memory/*.md` to know it in later sessions.

The files of a project are one conversation, in which each file is a message. An edited file is a new version of its
message; the archive keeps the earlier ones as revisions.
"""

import re
from collections.abc import Iterator

from palaver.errors import SourceError
from palaver.importers.claude_code.document import PLATFORM
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.small_files import UNREADABLE_SIDE_FILE, count_file
from palaver.sources.source import Source

_FOLDER = re.compile(r"(?:^|[/\\!])projects[/\\](-[^/\\]*|[A-Za-z]--[^/\\]*)[/\\]memory$")
"""Claude Code names a project's folder after its path: `-home-ada-mill`, `C--Users-ada-mill`."""


def memory_project(folder: Source) -> str | None:
    """Return the name of the project's folder if a folder holds a project's memory, else None."""
    found = _FOLDER.search(folder.label)
    return found[1] if found and any(name.endswith(".md") for name in folder.listing()[0]) else None


def read_memory(folder: Source, run: Run) -> Iterator[JsonObject]:
    """Read the files of a project's memory."""
    project = memory_project(folder) or "unknown"
    conversation_id = f"memory:{project}"
    messages: list[JsonObject] = []
    for file in sorted(folder.files_below(""), key=lambda file: file.name):
        count_file(file, run)
        if file.suffix != ".md":
            run.skipped("side-file")
            continue
        try:
            with file.open() as stream:
                text = stream.read().decode(errors="replace")
        except (SourceError, OSError) as error:
            run.note(UNREADABLE_SIDE_FILE, file.name, str(error), kept=False)
            run.skipped("unreadable-side-file")
            continue
        messages.append(_message(conversation_id, file, text))
        run.mapped()
    if messages:
        times = [message["timestamp"] for message in messages]
        yield build.conversation(
            conversation_id=conversation_id,
            title=f"Memory of {project}",
            platform={"name": PLATFORM, "metadata": {"kind": "memory", "project_folder": project}},
            created_at=min(times),
            updated_at=max(times),
            messages=messages,
        )


def _message(conversation_id: str, file: Source, text: str) -> JsonObject:
    written_at = file.written_at()
    return build.message(
        message_id=f"{conversation_id}:{file.name}",
        role="system",
        timestamp=written_at,
        content=[build.file(name=file.name, media_type="text/markdown", text=text)],
        # By `updated_at`, the archive knows which version is the newest.
        metadata={"author_kind": "harness", "hidden": False, "timestamp_inferred": True, "updated_at": written_at},
    )
