"""Completions in the editor, from telemetry: issued, produced, shown, accepted, rejected and so on.

Where the files are
    Copilot writes none: its events go to GitHub. They are on disk where a proxy or a dump of Application Insights
    recorded them, as JSON Lines, as an array, as `{"events": […]}`, bare (`{name, properties, measurements}`), in
    envelopes (`{data: {baseData: {…}}}`), or as rows of a table (`customDimensions`). An event may also be flat, one
    for a whole completion: `{timestamp, extensionVersion, file, language, promptContext, completion, accepted,
    completionIndex}`, of which `completion` and one of `file` and `promptContext` suffice.

What comes out
    Events of one request (`headerRequestId`, else `clientCompletionId`, else `opportunityId`), in any order, form one
    interaction: the code around the cursor is a `user` message written by the editor (`author_kind` is `harness`), and
    each suggestion an `assistant` message. Interactions in one file that follow each other within 300 seconds
    (`-O window=…`) form one conversation; if no file is stated, those of one language and one editor window. The text
    comes from `promptJson`, `promptContext`, `completionTextJson`, `completionText` and similar properties; text spread
    over `…_02`, `…_03` is joined. An interaction without any text becomes a usage record.
    A suggestion's metadata have its outcome: `accepted`, `outcome`, `completion_index`, `still_in_code`, and in
    `events` what each event adds to those before it. `estimated_tokens` are estimated from the length. If a prompt has
    several parts, `prompt_parts` names them. `platform.model` is the engine if it is named, else `copilot-codex`;
    editor, operating system and versions are in `context` and `platform`; the file, and the first cursor position, in
    `context.custom`. Lines are counted from 1 there as everywhere, `line` of a position from 0.

What is left out, and counted under these rules
    `other-event` (telemetry that does not concern completions). Never preserved are the fields that `raw_records.py`
    calls private: ids of persons, sessions and machines (`copilot_trackingId`, `client_machineid`, `ai.user.id`), lists
    of organizations, and tokens; nor the fields in which an envelope describes itself (`ver`, `sampleRate`).
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.model.build import METADATA
from palaver.sources.run import Run
from palaver.sources.source import Source

OWN_NAMES: frozenset[str] = METADATA | {"cursor", "environment", "events", "outcome", "prompt_parts", "still_in_code"}
KNOWN_KINDS: frozenset[str] = frozenset()


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.completions.recognition import recognize as recognize_file

    return recognize_file(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.completions.reader import conversations

    yield from conversations(source, run)
