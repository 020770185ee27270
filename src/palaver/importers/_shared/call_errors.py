"""Containment of our own bugs: an error in one API call must not cost the other calls of a source."""

import json
from collections.abc import Generator
from contextlib import contextmanager

from palaver.importers._shared.findings import UNFORESEEN
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.threads.call import Call


@contextmanager
def quarantine_on_error(call: Call, run: Run) -> Generator[None]:
    """Quarantine the payloads of a call if an exception is raised while it is processed."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - any bug
        payloads: JsonObject = {"call_id": call.call_id, "request": call.request, "response": call.response}
        if call.following:
            payloads["following"] = [later.response for later in call.following]
        raw = json.dumps(payloads).encode()
        run.quarantine_bytes(UNFORESEEN, raw, call.where, f"{type(error).__name__}: {error}")
