"""The status line: `Sonnet 4.5 · this session 123k tokens $1.23 · today $4.56 · block 2 h 10 min left`.

Claude Code runs its status-line command after every answer and passes it a JSON object on standard input. Without one,
the newest session of the archive is shown, of the current folder if it has any.

A running session has lines that the archive does not have yet: they are read from its transcript, from where the
archive stopped, and counted by the same rule, once per API message id with the greatest figures. What the archive knows
is kept in `statusline.json` beside it until the archive changes, and so are the prices of the models in use.

This module, and what it imports, must not import typer, pydantic or rich: it runs at every prompt. Nothing here raises:
a status line that fails would break the prompt.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from palaver.archive.live_usage import (
    PLATFORM,
    Answer,
    LiveUsage,
    Priced,
    Session,
    archived_answers,
    greatest,
    live_usage,
    new_tokens,
    open_quickly,
    read_bytes,
)
from palaver.archive.usage_blocks import usage_blocks
from palaver.prices.known_rows import KnownRows, Question, price_state
from palaver.storage.user_folders import data_folder, settings_file

_ARCHIVE = "archive.db"
_KEPT = "statusline.json"
_LONGEST_TAIL = 1 << 25
"""Bytes of a transcript that are read at most; beyond, Claude Code's own figures are shown."""
_INPUT_SECONDS = 1.0
_LONGEST_NAME = 40
_SEPARATOR = " · "


def statusline(given: str) -> str:
    """Return the line for what Claude Code passed, or for the newest session if that is empty; never raise."""
    try:
        return _line(_parsed(given))
    except Exception:  # noqa: BLE001 - a prompt must not break, whatever is wrong with the archive
        return "palaver: no figures (`palaver doctor` says why)"


def read_input() -> str:
    """Return standard input unless it is a terminal, or nothing comes."""
    stream = sys.stdin
    if stream is None or stream.closed or stream.isatty():
        return ""
    with suppress(OSError, ValueError):
        if sys.platform != "win32":
            # Some programs leave a pipe open without ever writing to it.
            import select

            if not select.select([stream], [], [], _INPUT_SECONDS)[0]:
                return ""
        return stream.buffer.read().decode("utf-8", "replace")
    return ""


def write_line(line: str) -> None:
    """Print the line; a closed pipe is not an error."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.buffer.write(line.encode(sys.stdout.encoding or "utf-8", "replace") + b"\n")
        sys.stdout.flush()


def _parsed(given: str) -> dict[str, Any]:
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _line(given: dict[str, Any]) -> str:
    home = data_folder()
    archive = os.path.join(home, _ARCHIVE)
    has_archive = os.path.exists(archive)
    session_id = _text(given, "session_id")
    if not has_archive and not session_id:
        return "palaver: no archive yet (`palaver scan`)"
    kept = _read_kept(home)
    prices = price_state(settings_file())
    rows = KnownRows(prices, kept.get("prices"))
    pricing = _Pricing(rows)
    today = _start_of_today()
    folder = _text(given, "workspace", "current_dir") or _text(given, "cwd") or os.getcwd()
    usage: LiveUsage | None = LiveUsage(Decimal(0), [], None)
    if has_archive:
        state = json.dumps([_file_state(archive), _file_state(f"{archive}-wal"), session_id or folder, today, prices])
        usage = _known_usage(kept.get("usage"), state)
        if usage is None:
            usage = live_usage(archive, session_id, folder, today, pricing.cost)
            kept["usage"] = _usage_to_keep(usage, state)
    tail = _Tail(archive if has_archive else "", session_id, _text(given, "transcript_path"), today, pricing)
    _write_kept(home, {**kept, "prices": rows.stored()}, is_wanted=has_archive)
    return _SEPARATOR.join(_parts(given, usage, tail, has_archive=has_archive))


class _Pricing:
    """Costs of answers by price rows that are known, or asked of another process."""

    def __init__(self, rows: KnownRows) -> None:
        self._rows = rows

    def cost(self, answers: Iterable[Answer]) -> Priced:
        asked = [
            (answer, Question(answer.model, answer.timestamp, answer.platform, answer.service_tier))
            for answer in answers
        ]
        self._rows.look_up(list({(question.key, question.at[:15]): question for _, question in asked}.values()))
        amount, unpriced = Decimal(0), 0
        for answer, question in asked:
            row = self._rows.row(question)
            if row is None:
                unpriced += any(answer.counts)
                continue
            amount += row.amount(row.charge_counts(answer.counts))
        return Priced(amount, unpriced)


def _known_usage(known: Any, state: str) -> LiveUsage | None:
    """Return what was kept of the archive, unless it has changed since."""
    if not isinstance(known, dict) or known.get("state") != state:
        return None
    session = known["session"]
    return LiveUsage(
        Decimal(known["today"]),
        known["times"],
        None if session is None else Session(**session)._replace(cost=Decimal(session["cost"])),
    )


def _usage_to_keep(usage: LiveUsage, state: str) -> dict[str, Any]:
    session = None if usage.session is None else {**usage.session._asdict(), "cost": str(usage.session.cost)}
    return {"state": state, "today": str(usage.today), "times": usage.times, "session": session}


class _Tail:
    """What the transcript of a session holds beyond the archive."""

    def __init__(self, archive: str, session_id: str, transcript: str, today: str, pricing: _Pricing) -> None:
        self.tokens = 0
        self.cost = self.today = Decimal(0)
        self.answers = self.unpriced = 0
        self.times: list[str] = []
        self.model = ""
        self.is_complete = bool(transcript) and os.path.exists(transcript)
        if not self.is_complete:
            return
        with closing(open_quickly(archive) if archive else open_quickly(":memory:")) as connection:
            real = os.path.realpath(transcript)
            offsets = read_bytes(connection, transcript) or read_bytes(connection, real) if archive else {}
            answers = self._read(transcript, offsets)
            archived = archived_answers(connection, session_id, answers) if archive and answers else {}
        self.times = [
            answer.timestamp for name, answer in answers.items() if not (name in archived and archived[name].is_timed)
        ]
        if latest := max(answers.values(), key=lambda answer: answer.timestamp, default=None):
            self.model = latest.model or ""
        of_today, of_session, taken_back_today, taken_back = [], [], [], []
        for name, answer in answers.items():
            known = archived.get(name)
            before = answer._replace(counts=known.counts) if known else None
            joined = answer._replace(counts=greatest(answer.counts, known.counts)) if known else answer
            if (known.timestamp if known else answer.timestamp) >= today:
                of_today.append(joined)
                taken_back_today += [before] if before else []
            of_session.append(joined)
            if known and before and known.is_in_session:
                taken_back.append(before)
        self.today = pricing.cost(of_today).amount - pricing.cost(taken_back_today).amount
        added, removed = pricing.cost(of_session), pricing.cost(taken_back)
        self.cost = added.amount - removed.amount
        self.unpriced = added.unpriced
        self.answers = len(of_session) - len(taken_back)
        self.tokens = sum(new_tokens(answer.counts) for answer in of_session) - sum(
            new_tokens(answer.counts) for answer in taken_back
        )

    def _read(self, transcript: str, offsets: dict[str, int]) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for path, name in _transcript_files(transcript):
            offset = offsets.get(name, 0)
            if os.path.getsize(path) - offset > _LONGEST_TAIL:
                self.is_complete = False
                continue
            for answer in _answers(path, offset):
                key = answer.api_message_id or f"{name} {len(found)}"
                before = found.get(key)
                found[key] = (
                    answer if before is None else before._replace(counts=greatest(before.counts, answer.counts))
                )
        return found


def _transcript_files(transcript: str) -> Iterator[tuple[str, str]]:
    """Yield the transcript and those of its agents, with their names relative to its folder."""
    folder = os.path.dirname(transcript)
    yield transcript, os.path.basename(transcript)
    for root, _, names in os.walk(os.path.join(transcript.removesuffix(".jsonl"), "subagents")):
        for name in sorted(names):
            if name.endswith(".jsonl"):
                path = os.path.join(root, name)
                yield path, os.path.relpath(path, folder).replace(os.sep, "/")


def _answers(path: str, offset: int) -> Iterator[Answer]:
    """Yield the usage in the lines of a file from an offset on; the last line may not be finished."""
    with open(path, "rb") as stream:
        stream.seek(offset)
        for line in stream:
            if b'"usage"' not in line or b'"assistant"' not in line:
                continue
            with suppress(ValueError, RecursionError):
                match json.loads(line):
                    case {"type": "assistant", "timestamp": str(at), "message": {"usage": dict(usage)} as message} if (
                        message.get("model") != "<synthetic>"
                    ):
                        yield _answer(at, message, usage)
                    case _:
                        pass


def _answer(at: str, message: dict[str, Any], usage: dict[str, Any]) -> Answer:
    split = usage.get("cache_creation")
    hour = split.get("ephemeral_1h_input_tokens") if isinstance(split, dict) else None
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    sent, answered, read, written = (_count(usage.get(name)) for name in names)
    name, model, tier = (
        value if isinstance(value, str) else None
        for value in (message.get("id"), message.get("model"), usage.get("service_tier"))
    )
    return Answer(name, at, PLATFORM, model, tier, (sent, answered, read, written, _count(hour), None))


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _parts(given: dict[str, Any], usage: LiveUsage, tail: _Tail, *, has_archive: bool) -> Iterator[str]:
    archived = usage.session
    name = _text(given, "model", "display_name") or _text(given, "model", "id") or tail.model
    name = name or (archived.model if archived else "") or ""
    if name:
        yield _printable(name)
    if (share := _context_share(given)) is not None:
        yield f"context {share:.0%}"
    answers = tail.answers + (archived.answers if archived else 0)
    tokens = tail.tokens + (archived.tokens if archived else 0)
    cost = tail.cost + (archived.cost if archived else 0)
    unpriced = tail.unpriced + (archived.unpriced if archived else 0)
    stated = _number(given, "cost", "total_cost_usd")
    is_known = answers and not unpriced and (tail.is_complete or not _text(given, "transcript_path"))
    label = "this session" if given else "last session"
    figures = [f"{_short(tokens)} tokens"] if answers and is_known else []
    if is_known:
        figures.append(_money(cost))
    elif stated is not None:
        figures.append(_money(stated))
    if figures:
        yield f"{label} {' '.join(figures)}"
    if has_archive:
        yield f"today {_money(usage.today + tail.today)}"
    blocks = usage_blocks([*usage.times, *tail.times])
    if blocks and (left := blocks[-1].seconds_left(datetime.now(UTC))):
        hours, minutes = divmod(-(-left // 60), 60)
        yield f"block {f'{hours} h {minutes:02} min' if hours else f'{minutes} min'} left"


def _context_share(given: dict[str, Any]) -> float | None:
    if (percentage := _number(given, "context_window", "used_percentage")) is not None:
        return percentage / 100
    size = _number(given, "context_window", "context_window_size")
    current = given.get("context_window")
    current = current.get("current_usage") if isinstance(current, dict) else None
    if not size or not isinstance(current, dict):
        return None
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(_count(current.get(name)) or 0 for name in names) / size


def _text(given: dict[str, Any], *keys: str) -> str:
    value = _value(given, keys)
    return value if isinstance(value, str) else ""


def _number(given: dict[str, Any], *keys: str) -> float | None:
    value = _value(given, keys)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12 else None


def _value(given: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        given = given.get(key) if isinstance(given, dict) else None
    return given


def _printable(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable())[:_LONGEST_NAME]


def _money(amount: Decimal | float) -> str:
    return "<$0.01" if 0 < amount * 100 < 1 else f"${amount:,.2f}"


def _short(number: int) -> str:
    if number < 1000:
        return str(number)
    figure, unit = (number / 1e3, "k") if number < 999_500 else (number / 1e6, "M")
    return f"{figure:.{0 if figure >= 9.95 else 1}f}{unit}"


def _start_of_today() -> str:
    midnight = datetime.now().astimezone().replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    return f"{midnight.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z"


def _file_state(path: str) -> list[int]:
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_mtime_ns, status.st_size]


def _read_kept(home: str) -> dict[str, Any]:
    try:
        with open(os.path.join(home, _KEPT), encoding="utf-8") as file:
            return _parsed(file.read())
    except (OSError, UnicodeDecodeError):
        return {}


def _write_kept(home: str, kept: dict[str, Any], *, is_wanted: bool) -> None:
    """Replace the file in one step, if anything changed: several status lines run at once."""
    if not is_wanted or kept == _read_kept(home):
        return
    draft = os.path.join(home, f".{_KEPT}.{os.getpid()}")
    with suppress(OSError):
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(kept, file)
        os.replace(draft, os.path.join(home, _KEPT))
