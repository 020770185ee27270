"""Completions as telemetry tells them: asked for, produced, shown, taken or not; events of several at once."""

from datetime import UTC, datetime
from pathlib import Path

from github_copilot.truth import Json, Lines, Truth
from prose import Prose

START = datetime(2026, 2, 1, tzinfo=UTC).timestamp()
LANGUAGES = {"python": "py", "typescript": "ts", "go": "go"}


def write_telemetry(path: Path, size: int, prose: Prose, truth: Truth, number: int) -> None:
    """Work on one file of code, without a pause that is long enough for another conversation."""
    rng = prose.rng
    language, suffix = rng.choice(list(LANGUAGES.items()))
    document = f"/home/dev/{prose.word()}/{number}_{prose.word()}.{suffix}"
    seconds = START + number * 100_000.0
    truth.conversations += 1
    with Lines(path, truth) as lines:
        while lines.bytes < size:
            seconds += 5 + rng.random() * 60
            _add_completion(lines, prose, seconds, {"languageId": language, "fileName": document})
            truth.completions += 1


def _add_completion(lines: Lines, prose: Prose, seconds: float, about: Json) -> None:
    rng = prose.rng
    name = prose.uuid()
    properties = {
        "headerRequestId": name,
        "opportunityId": prose.uuid(),
        "clientCompletionId": prose.uuid(),
        **about,
        "copilot_trackingId": "0" * 32,
        "sku": "yearly_subscriber",
        "engineName": "gpt-41-copilot",
    }
    text = "\n".join(prose.code(rng.randint(1, 12))) or "pass"
    length = len(text)
    told: list[tuple[str, float, Json, Json]] = [
        ("issued", 0, {}, {"promptCharLen": 8_000, "documentLength": 20_000}),
        (
            "produced",
            0.3,
            {"choiceIndex": "0", "completionText": text},
            {"compCharLen": length, "timeToProduceMs": 300},
        ),
        ("shown", 0.4, {"reason": "network"}, {"compCharLen": length}),
    ]
    if rng.random() < 0.4:
        told.append(("accepted", 2.0, {}, {"compCharLen": length, "acceptedLength": length}))
    else:
        told.append(("rejected", 2.5, {}, {"compCharLen": length}))
    for kind, after, more, measured in told:
        moment = datetime.fromtimestamp(seconds + after, UTC)
        lines.add(
            {
                "name": f"ghostText.{kind}",
                "timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z",
                "properties": {**properties, **more},
                "measurements": measured,
            }
        )
