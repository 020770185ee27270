"""Rewinds: a person went back and said something else. The branch that was left is kept and marked."""

from collections import defaultdict

from palaver.model.build import JsonObject


def mark_abandoned(messages: list[JsonObject]) -> list[str]:
    """Set `on_active_path` to false on branches that a later prompt at the same place replaced.

    The answer names the messages that prompts hang on.

    Nearly every fork of the parent links is none: tools that ran side by side, progress lines. Only prompts of a person
    with the same parent count, and only if they were written at different times (else it is a replay).
    """
    prompts: dict[str, list[JsonObject]] = defaultdict(list)
    for message in messages:
        if message["role"] == "user" and message["metadata"].get("author_kind") == "human":
            prompts[message.get("parent_message_id", "")].append(message)
    forks = [
        rivals
        for parent, rivals in prompts.items()
        if parent and len(rivals) > 1 and len({rival["timestamp"] for rival in rivals}) > 1
    ]
    places = [parent for parent in prompts if parent]
    if not forks:
        return places
    by_id = {message["message_id"]: message for message in messages}
    active: set[str] = set()
    step: JsonObject | None = messages[-1]
    while step is not None and step["message_id"] not in active:
        active.add(step["message_id"])
        step = by_id.get(step.get("parent_message_id", ""))
    children: dict[str, list[JsonObject]] = defaultdict(list)
    for message in messages:
        children[message.get("parent_message_id", "")].append(message)
    for rivals in forks:
        stack = [rival for rival in rivals if rival["message_id"] not in active]
        if len(stack) == len(rivals):
            continue  # none of them leads to the end: nothing says which was left
        while stack:
            message = stack.pop()
            if message["metadata"].get("on_active_path") is not False:
                message["metadata"]["on_active_path"] = False
                stack.extend(children[message["message_id"]])
    return places
