"""An archive of many invented messages to search in, made through the same ingest as every other.

Words are drawn by Zipf's law from a vocabulary of realistic size: the most frequent one stands in nearly every message,
most words stand in a handful. One platform has nine tenths of the messages, another one in a hundred.
"""

import random
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from palaver.archive.connection import open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.model import build
from prose import CODAS, NUCLEI, ONSETS

VOCABULARY = 150_000
STREAM = 4_000_000
PLATFORMS = {"claude_code": 0.90, "chatgpt": 0.09, "claude_ai": 0.01}
MODELS = {"claude_code": "claude-sonnet-4-5", "chatgpt": "gpt-5", "claude_ai": "claude-opus-4-1"}
TOOLS = ["Bash", "Read", "Edit", "Grep", "WebFetch"]
SHORT = ["ok", "continue", "yes please", "thanks", "try again"]
FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
DAYS = 1_200
CONVERSATIONS_AT_ONCE = 100


def make(path: Path, messages: int, seed: int = 1) -> None:
    """Write the archive; under another name first, so that one that was interrupted is not taken for whole."""
    draft = path.with_suffix(".draft")
    for left in (draft, draft.with_name(f"{draft.name}-wal"), draft.with_name(f"{draft.name}-shm")):
        left.unlink(missing_ok=True)
    words = Words(random.Random(seed), min(STREAM, 100 * messages))
    started = time.perf_counter()
    with closing(open_to_write(draft)) as connection:
        ingest = Ingest(connection)
        batch: list[Any] = []
        done = 0
        for document in conversations(words, messages):
            batch.append((conversation_rows(document), None))
            done += len(document["messages"])
            if len(batch) == CONVERSATIONS_AT_ONCE:
                _add(connection, ingest, batch)
                batch = []
                print(f"\r{done:,} messages, {time.perf_counter() - started:.0f} s", end="", file=sys.stderr)
        _add(connection, ingest, batch)
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.execute("pragma journal_mode = delete")
    print(file=sys.stderr)
    draft.rename(path)


def _add(connection: Any, ingest: Ingest, batch: list[Any]) -> None:
    connection.execute("begin immediate")
    ingest.add(batch)
    connection.execute("commit")


class Words:
    """A long stream of words; a text is a stretch of it."""

    def __init__(self, rng: random.Random, length: int) -> None:
        self.rng = rng
        self.vocabulary = vocabulary(rng)
        weights = list(accumulate(1 / (rank + 1.5) for rank in range(VOCABULARY)))
        self._stream = rng.choices(self.vocabulary, cum_weights=weights, k=length)

    def text(self, mean: float) -> str:
        length = 1 + int(self.rng.expovariate(1 / mean))
        start = int(self.rng.random() * (len(self._stream) - length))
        return " ".join(self._stream[start : start + length])


def vocabulary(rng: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = 1 if len(words) < 150 else 2 if len(words) < 2_000 else rng.choice((2, 3, 3, 4))
        words["".join(rng.choice(ONSETS) + rng.choice(NUCLEI) + rng.choice(CODAS) for _ in range(syllables))] = None
    return list(words)


def conversations(words: Words, messages: int) -> Iterator[build.Document]:
    """In the order of time; one in twenty begins as the copy of the one before it on its platform."""
    rng = words.rng
    done = number = 0
    latest: dict[str, list[Any]] = {}
    while done < messages:
        platform = rng.choices(list(PLATFORMS), list(PLATFORMS.values()))[0]
        when = FIRST_DAY + timedelta(days=DAYS * done / messages, seconds=rng.random() * 3_600)
        length = 1 + int(rng.expovariate(1 / 60))
        before = latest.get(platform, []) if rng.random() < 0.05 else []
        made = [*before, *_messages(words, f"{number:06x}", platform, when, length)]
        latest[platform] = made[:50]
        yield build.conversation(
            conversation_id=f"{number:06x}-{rng.getrandbits(48):012x}",
            title=words.text(5),
            platform={"name": platform, "model": MODELS[platform]},
            context={"workspace": {"path": f"/home/dev/project-{int(rng.random() ** 3 * 300)}"}},
            created_at=made[0]["timestamp"],
            updated_at=made[-1]["timestamp"],
            messages=made,
        )
        done += len(made)
        number += 1


def _messages(words: Words, prefix: str, platform: str, when: datetime, length: int) -> Iterator[Any]:
    rng = words.rng
    for index in range(length):
        when += timedelta(seconds=rng.expovariate(1 / 20))
        kind = rng.random() if platform == "claude_code" else rng.random() / 3
        is_asked = index % 2 == 0
        tool = rng.choice(TOOLS)
        if is_asked and kind > 0.4:
            is_error = rng.random() < 0.05
            content = [build.tool_result(tool_use_id=f"{prefix}{index - 1}", content=words.text(70), is_error=is_error)]
        elif is_asked:
            content = [build.text(rng.choice(SHORT) if rng.random() < 0.05 else words.text(30))]
        elif kind > 0.4:
            content = [build.thinking(words.text(30)), build.text(words.text(15))]
            content += [build.tool_use(id=f"{prefix}{index}", name=tool, input={"command": words.text(10)})]
        else:
            content = [build.text(words.text(60))]
        author = "model" if not is_asked else "tool" if kind > 0.4 else "human"
        yield build.message(
            message_id=f"{prefix}-{index:04x}",
            role="user" if is_asked else "assistant",
            timestamp=f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03}Z",
            content=content,
            metadata={"author_kind": author} | ({} if is_asked else {"model_override": MODELS[platform]}),
        )
