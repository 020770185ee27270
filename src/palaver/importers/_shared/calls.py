"""Calls of an API on their way into conversations: a bug of ours in one of them must not cost the others."""

import json
from collections.abc import Generator
from contextlib import contextmanager

from palaver.importers._shared.findings import UNFORESEEN
from palaver.sources.run import Run
from palaver.threads.call import Call


@contextmanager
def kept_apart(call: Call, run: Run) -> Generator[None]:
    """Set the payloads of a call aside if something goes wrong with it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is
        raw = json.dumps({"call_id": call.call_id, "request": call.request, "response": call.response}).encode()
        run.set_aside(UNFORESEEN, raw, call.where, f"{type(error).__name__}: {error}")
