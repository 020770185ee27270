"""The folder of Continue: sessions with the prompts that were sent, their index, and a line for every event.

    .continue/sessions/<uuid>.json              a session, indented, from 20 KB to 1 MB
    .continue/sessions/sessions.json            the index
    .continue/config.yaml                       the models
    .continue/dev_data/0.2.0/<event>.jsonl      chatInteraction, toolUsage, tokensGenerated

Most bytes are prompts: every call of an agent repeats all that was said before, once in the session and once in the
events, with every piece of the answer under a tag of its own.
"""

from pathlib import Path

import orjson

from continue_dev.session import MODELS, Session
from prose import Prose
from trees import Truth, sizes, write, write_bytes

__all__ = ["generate_tree"]

SMALLEST_BYTES, LARGEST_BYTES = 20_000, 1_000_000


def generate_tree(folder: Path, megabytes: float, prose: Prose) -> Truth:
    truth, rng = Truth(), prose.rng
    root = folder / ".continue"
    index = []
    now_ms = 1_762_000_000_000
    write_bytes(root / "config.yaml", _config().encode(), truth)
    events = root / "dev_data" / "0.2.0"
    events.mkdir(parents=True, exist_ok=True)
    for size in sizes(rng, truth, int(megabytes * 1_000_000), SMALLEST_BYTES, LARGEST_BYTES):
        session = Session(prose, truth, now_ms)
        session.fill(size)
        write(root / "sessions" / f"{session.session_id}.json", session.document(), truth, is_indented=True)
        index.append(session.row())
        for name, lines in session.events.items():
            raw = b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
            with (events / f"{name}.jsonl").open("ab") as file:
                file.write(raw)
            truth.bytes += len(raw)
        now_ms = session.now_ms + rng.randrange(60_000, 20_000_000)
    write(root / "sessions" / "sessions.json", index, truth, is_indented=True)
    truth.files += len(list(events.iterdir()))
    return truth


def _config() -> str:
    models = "".join(
        f"  - name: {title}\n    provider: {provider}\n    model: {model}\n" for title, provider, model in MODELS
    )
    return f"name: Local Config\nversion: 1.0.0\nschema: v1\nmodels:\n{models}"
