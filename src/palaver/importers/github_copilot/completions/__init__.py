"""Completions in the editor, as telemetry tells of them: issued, produced, shown, accepted, rejected and so on.

Where the files are
    Copilot keeps none: its events go to GitHub. They are on disk where a proxy or a dump of Application Insights wrote
    them down, as JSON Lines, as an array, as `{"events": […]}`, bare (`{name, properties, measurements}`), in envelopes
    (`{data: {baseData: {…}}}`), or as rows of a table (`customDimensions`). An event may also be flat, one for a whole
    completion: `{timestamp, extensionVersion, file, language, promptContext, completion, accepted, completionIndex}`.

What comes out
    Events of one request (`headerRequestId`, else `clientCompletionId`, else `opportunityId`), in whatever order, are
    one interaction: the code around the cursor is a message of the user, which the editor wrote (`author_kind` is
    `harness`), and each suggestion one of the assistant. Interactions in one file that follow each other within 300
    seconds (`-O window=…`) are one conversation; where no file is stated, those of one language and one window of the
    editor. The words come from `promptJson`, `promptContext`, `completionTextJson`, `completionText` and the like; what
    was spread over `…_02`, `…_03` is put together. Without any words an interaction is a usage record.
    A suggestion's metadata say what became of it: `accepted`, `outcome`, `completion_index`, `still_in_code`, and in
    `events` all that each event says and none before it said. `estimated_tokens` are guessed by the length. Where there
    are several parts of a prompt, `prompt_parts` names them. `platform.model` is the engine that is named, else
    `copilot-codex`; editor, operating system and versions stand in `context` and `platform`; the file, and where the
    cursor first was, in `context.custom`. Lines are counted from 1 there as everywhere, `line` of a position from 0.

What is left out, and counted under these rules
    `other-event` (telemetry of other things than completions). Never kept are the fields that `secrets.py` names: ids
    of persons, sessions and machines (`copilot_trackingId`, `client_machineid`, `ai.user.id`), lists of organizations,
    and tokens; nor what an envelope says of itself (`ver`, `sampleRate`).
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
    from palaver.importers.github_copilot.completions.shapes import recognize as judge

    return judge(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.completions.reading import conversations

    yield from conversations(source, run)
