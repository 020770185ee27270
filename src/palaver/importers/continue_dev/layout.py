"""The names of the files and folders in Continue's folder."""

SESSIONS, DEV_DATA = "sessions", "dev_data"
INDEX = "sessions.json"
CONFIGS = ("config.yaml", "config.json")
"""The first that is there counts."""
OTHER_CONFIG = "config.ts"
TYPED = "input_history.json"
SECRETS = ("auth.json", "permissions.yaml", ".env")
"""Files that hold keys, or policies: they are never opened."""

EVENTS = {
    "chat": "chatFeedback",
    "tokens_generated": "tokensGenerated",
    **{
        name: name
        for name in (
            *("chatInteraction", "chatFeedback", "tokensGenerated", "toolUsage", "editInteraction", "editOutcome"),
            *("autocomplete", "quickEdit", "nextEditOutcome", "nextEditWithHistory"),
        )
    },
}
"""What each log of events holds, by its name: the first two are names of older versions."""
