"""ChatGPT data exports: a ZIP with the conversations, spelled as the exports of 2024 and 2025 or of 2026 spell them.

    conversations.json                                    one line, everything above ASCII escaped
    file-<id>-<name>, file_<hex>-sanitized.png            assets that messages point to

or, lean, as since the summer of 2026:

    conversations-000.json…, export_manifest.json         indented, keys sorted, hidden nodes and most fields left out
    file_<hex>.dat, conversation_asset_file_names.json

Most conversations are short, a few run to two megabytes; one in twenty has branches.
"""

import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from chatgpt.conversation import Conversation
from chatgpt.forms import CLASSIC, LEAN, Truth
from chatgpt.members import Asset, Members, new_assets
from chatgpt.messages import ERAS, LEAN_ERA
from prose import Prose

__all__ = ["generate_export"]

# Log-normal with a mean of eleven turns, which makes 30 to 35 messages.
TURNS_MU, TURNS_SIGMA = 1.55, 1.3
MOST_TURNS = 290
TURN_BYTES = 7_000
SHARD_CONVERSATIONS = 100


def generate_export(folder: Path, megabytes: float, prose: Prose, *, is_lean: bool) -> Truth:
    assets = new_assets(prose)
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        members = Members(archive, LEAN if is_lean else CLASSIC)
        elements = _elements(int(megabytes * 1_000_000), prose, assets, members)
        if is_lean:
            while shard := list(islice(elements, SHARD_CONVERSATIONS)):
                members.write_shard(shard)
        else:
            members.write_array("conversations.json", elements)
        members.write_assets(assets, prose)
        members.write_side_files()
    return members.truth


def _elements(wanted: int, prose: Prose, assets: list[Asset], members: Members) -> Iterator[bytes]:
    rng = prose.rng
    while wanted > 0:
        turns = 1 + int(rng.lognormvariate(TURNS_MU, TURNS_SIGMA))
        conversation = Conversation(LEAN_ERA if members.form is LEAN else rng.choice(ERAS), prose, assets)
        conversation.fill(min(turns, MOST_TURNS, 1 + wanted // TURN_BYTES))
        element = members.spelled(conversation.record(), rng)
        wanted -= len(element)
        yield element
