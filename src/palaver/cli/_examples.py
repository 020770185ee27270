"""Examples of every command, as `--help` and the reference show them."""

EXAMPLES = {
    "scan": ("palaver scan", "palaver scan --since 7d", "palaver scan --dry-run"),
    "import": (
        "palaver import ~/Downloads/chatgpt-export.zip",
        "palaver import claude_code ~/backup/.claude",
        "palaver import trace.jsonl --output conversations.jsonl",
    ),
    "demo": ("palaver demo", "palaver demo --keep sample/"),
    "sources": ("palaver sources", "palaver sources --json"),
    "identify": ("palaver identify ~/Downloads/export.zip", "palaver identify ~/.claude/projects"),
    "list": (
        "palaver list --since 'last week'",
        "palaver list --platform 'Claude Code' --project webshop",
        "palaver list --here --has rating",
    ),
    "show": ("palaver show latest", "palaver show 0c182e15:412", "palaver show 0c182e15 --around 412 -C 3"),
    "search": (
        "palaver search compil* error",
        "palaver search 'retry OR backoff NOT test' --since month",
        "palaver search 'git rebase -i' --in tool -C 2",
    ),
    "stats": (
        "palaver stats",
        "palaver stats --by model --since 2026-02",
        "palaver stats --budget 50 --since month",
    ),
    "export": (
        "palaver export --format markdown --output notes/",
        "palaver export --project webshop --output webshop.jsonl",
        "palaver export 0c182e15 --format markdown",
    ),
    "validate": ("palaver validate", "palaver validate export.zip --report report.html"),
    "findings": ("palaver findings", "palaver findings --severity error", "palaver findings --code bad-json"),
    "quarantine list": ("palaver quarantine list", "palaver quarantine list --code bad-json"),
    "quarantine show": ("palaver quarantine show 1",),
    "quarantine retry": ("palaver quarantine retry", "palaver quarantine retry --code bad-json"),
    "statusline": ("palaver statusline",),
    "duplicates": ("palaver duplicates", "palaver duplicates --level 3"),
    "doctor": ("palaver doctor", "palaver doctor --json"),
    "tag": (
        "palaver tag",
        "palaver tag latest keep",
        "palaver tag --project webshop work",
    ),
    "rate": ("palaver rate latest 5", "palaver rate latest"),
    "forget": (
        "palaver forget 0c182e15 --dry-run",
        "palaver forget --project secret",
        "palaver forget --undo 0c182e15",
    ),
    "completion": ("palaver completion bash", "palaver completion zsh"),
    "record": (
        "palaver record -- claude",
        "palaver record --upstream anthropic --archive",
        "palaver record --upstream local=http://127.0.0.1:11434/v1 --log traffic/",
    ),
    "replay": (
        "palaver replay log-2026-11-19-08-30-00.jsonl:3 --dry-run",
        "palaver replay traffic/log-2026-11-19-08-30-00.jsonl:3 --curl",
    ),
    "cook": ("palaver cook trace.jsonl", "palaver cook --project webshop --output cooked.json"),
    "merge": ("palaver merge requests.jsonl --chunks chunks.jsonl --output merged.jsonl",),
    "convert": ("palaver convert request.json --from openai-chat --to anthropic",),
    "schema": ("palaver schema", "palaver schema conversation"),
}
"""By name, as typed after `palaver`."""
