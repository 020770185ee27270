"""A report of usage by user and day, one row a line, with its tables by editor, feature, language and model."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from github_copilot.truth import Json, Lines, Truth
from prose import Prose

FIRST_DAY = datetime(2026, 2, 1, tzinfo=UTC)
COUNTS = (
    *("user_initiated_interaction_count", "code_generation_activity_count", "code_acceptance_activity_count"),
    *("loc_suggested_to_add_sum", "loc_suggested_to_delete_sum", "loc_added_sum", "loc_deleted_sum"),
)
FEATURES = ("code_completion", "chat_panel_ask_mode", "chat_panel_agent_mode", "agent_edit", "copilot_cli")
LANGUAGES = ("python", "typescript", "go", "rust", "markdown", "others")
MODELS = ("claude-sonnet-4.5", "gpt-5", "auto")


def write_report(path: Path, size: int, prose: Prose, truth: Truth) -> None:
    number = 0
    with Lines(path, truth) as lines:
        while lines.bytes < size:
            user, day = divmod(number, 28)
            lines.add(_row(prose, user, FIRST_DAY + timedelta(days=day)))
            truth.usage_rows += 1
            number += 1


def _row(prose: Prose, user: int, day: datetime) -> Json:
    seen = {"ide_version": "1.115.0", "sampled_at": f"{day:%Y-%m-%d}T12:00:00.000Z"}
    plugin = {"plugin": "copilot-chat", "plugin_version": "0.44.0", "sampled_at": f"{day:%Y-%m-%d}T12:00:00.000Z"}
    return {
        "report_start_day": "2026-02-01",
        "report_end_day": "2026-02-28",
        "day": f"{day:%Y-%m-%d}",
        "organization_id": "100000001",
        "enterprise_id": "200001",
        "user_id": 300_000 + user,
        "user_login": f"dev-{user}",
        **_counts(prose),
        "totals_by_ide": [
            {"ide": "vscode", **_counts(prose), "last_known_ide_version": seen, "last_known_plugin_version": plugin}
        ],
        "totals_by_feature": [{"feature": feature, **_counts(prose)} for feature in FEATURES],
        "totals_by_language_feature": [
            {"language": language, "feature": feature, **_counts(prose)}
            for language in LANGUAGES
            for feature in FEATURES[:3]
        ],
        "totals_by_language_model": [
            {"language": language, "model": model, **_counts(prose)} for language in LANGUAGES[:3] for model in MODELS
        ],
        "totals_by_model_feature": [
            {"model": model, "feature": feature, **_counts(prose)} for model in MODELS for feature in FEATURES[:3]
        ],
        "used_agent": True,
        "used_chat": True,
        "used_cli": False,
        "used_copilot_coding_agent": False,
    }


def _counts(prose: Prose) -> Json:
    return {name: prose.rng.randrange(400) for name in COUNTS}
