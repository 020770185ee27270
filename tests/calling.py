"""Calls of an API as a log holds them, made up for tests."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from hypothesis import strategies as st

from palaver.model.timestamps import from_seconds
from palaver.threads.call import Call

TIME = "2026-01-01T00:00:00.000Z"
_EPOCH = 1_767_225_600


@st.composite
def many_calls(draw, wires: list[str], session_ids: Sequence[str] = ("", "", "one")) -> list[Call]:
    """Calls of a few conversations that share beginnings, branch, are repeated, fail, and change their prompts."""
    numbers = count()
    words = st.sampled_from(["a", "b"])
    made: list[Call] = []
    minutes = draw(st.permutations(range(40)))
    for minute in minutes[: draw(st.integers(1, 7))]:
        wire = draw(st.sampled_from(wires))
        turns = draw(st.lists(st.tuples(words, words), max_size=3))
        made.append(
            call(
                wire,
                [("user" if side == 0 else "assistant", said) for turn in turns for side, said in enumerate(turn)],
                draw(words),
                draw(words | st.none()),
                prompt=draw(st.sampled_from([None, "Be brief.", "Be kind."])),
                minute=minute,
                number=next(numbers),
                caller=draw(st.sampled_from(["", "north"])),
                session_id=draw(st.sampled_from(session_ids)),
                deployment=draw(words),
            )
        )
    return made


def call(
    wire: str,
    history: list[tuple[str, str]],
    asked: str,
    answered: str | None,
    *,
    prompt: str | None = None,
    minute: int = 0,
    number: int = 0,
    caller: str = "",
    session_id: str = "",
    deployment: str = "d",
) -> Call:
    items = [{"role": role, "content": said} for role, said in [*history, ("user", asked)]]
    request: dict[str, Any] = {"model": "m"}
    if wire == "openai-chat":
        request["messages"] = [*([{"role": "system", "content": prompt}] if prompt else []), *items]
    elif wire == "anthropic":
        request |= {"messages": items} | ({"system": prompt} if prompt else {})
    else:
        request |= {"input": items} | ({"instructions": prompt} if prompt else {})
    return Call(
        f"call-{number}",
        wire,
        request,
        None if answered is None else answer(wire, answered, number),
        error={"category": "rate_limit", "message": "slow down"} if answered is None else None,
        started_at=from_seconds(_EPOCH + 60 * minute),
        ended_at=from_seconds(_EPOCH + 60 * minute + 5),
        duration_ms=5_000,
        caller=caller,
        session_id=session_id,
        version="1",
        platform={"deployment": deployment},
    )


def answer(wire: str, said: str, number: int) -> dict[str, Any]:
    payload: dict[str, Any] = {"id": f"answer-{number}", "model": "m"}
    if wire == "openai-chat":
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return payload | {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": number}}
    usage = {"input_tokens": 3, "output_tokens": number}
    if wire == "anthropic":
        content = [{"type": "text", "text": said}]
        return payload | {"role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage}
    parts = [{"type": "output_text", "text": said, "annotations": []}]
    item = {"type": "message", "id": "x", "role": "assistant", "status": "completed", "content": parts}
    return payload | {"status": "completed", "output": [item], "usage": usage}
