"""Conversations as an API sees them: every call repeats all that was said before, and many run side by side."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from prose import Prose

Json = dict[str, Any]

SIDE_BY_SIDE = 40
MEAN_TURNS = 12
_START = datetime(2026, 3, 1, tzinfo=UTC).timestamp()


@dataclass
class Truth:
    """What a correct import must find."""

    bytes: int = 0
    lines: int = 0
    largest_line: int = 0
    conversations: int = 0
    messages: int = 0
    calls: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: {"input_tokens": 0, "output_tokens": 0})


def counted(line: bytes, truth: Truth) -> bytes:
    truth.bytes += len(line)
    truth.lines += 1
    truth.largest_line = max(truth.largest_line, len(line))
    return line


@dataclass
class Spoken:
    """One call: what was said before, and what came back."""

    name: str
    prompt: str
    history: list[tuple[str, str]]
    answer: str
    seconds: float
    conversation: str
    tokens: tuple[int, int]


class _Conversation:
    def __init__(self, prose: Prose) -> None:
        self.name = prose.uuid()
        self.prompt = prose.paragraph(prose.rng.randint(10, 60))
        self.history: list[tuple[str, str]] = []
        self.turns_left = 1 + int(prose.rng.expovariate(1 / MEAN_TURNS))


def calls(prose: Prose, truth: Truth, wanted_bytes: int) -> Iterator[Spoken]:
    """Calls of many conversations in turns, until enough was written."""
    rng = prose.rng
    seconds = _START
    open_ones: list[_Conversation] = []
    while truth.bytes < wanted_bytes:
        while len(open_ones) < SIDE_BY_SIDE:
            open_ones.append(_Conversation(prose))
            truth.conversations += 1
            truth.messages += 1
        one = rng.choice(open_ones)
        one.history.append(("user", prose.paragraph(rng.randint(1, 12)) + f" ({prose.word()} {truth.calls})"))
        answer = prose.markdown(rng.randint(2, 24))
        seconds += rng.random() * 4
        tokens = (sum(len(said) for _, said in one.history) // 4, len(answer) // 4 + 1)
        truth.calls += 1
        truth.messages += 2
        truth.tokens["input_tokens"] += tokens[0]
        truth.tokens["output_tokens"] += tokens[1]
        yield Spoken(prose.uuid(), one.prompt, list(one.history), answer, seconds, one.name, tokens)
        one.history.append(("assistant", answer))
        one.turns_left -= 1
        if not one.turns_left:
            open_ones.remove(one)
    truth.conversations -= sum(not one.history for one in open_ones)
    truth.messages -= sum(not one.history for one in open_ones)
