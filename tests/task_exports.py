"""Markdown exports as Roo Code, Cline and Kilo Code write them, from the messages of an API history.

The functions follow the products' `src/integrations/misc/export-markdown.ts`.
"""

import json


def exported(history):
    return "---\n\n".join(_message(message) for message in history)


def exported_with_facts(history, *, number, task, facts):
    """The form of Kilo Code for a task with subtasks, which tells of the task above its messages."""
    told = "".join(f"**{name}:** {value}  \n" for name, value in facts.items())
    return f"# Task {number}: {task}\n\n{told}\n## Conversation\n\n{exported(history)}"


def _message(message):
    content = message["content"]
    text = content if isinstance(content, str) else "\n".join(map(_block, content))
    return f"**{'User' if message['role'] == 'user' else 'Assistant'}:**\n\n{text}\n\n"


def _block(block):
    match block:
        case {"type": "text"}:
            return block["text"]
        case {"type": "image"}:
            return "[Image]"
        case {"type": "tool_use"}:
            return f"[Tool Use: {block['name']}]\n" + "\n".join(
                f"{key[0].upper()}{key[1:]}: {_value(value)}" for key, value in block["input"].items()
            )
        case {"type": "tool_result", "content": content}:
            body = content if isinstance(content, str) else "\n".join(map(_block, content))
            return f"[Tool{' (Error)' if block.get('is_error') else ''}]\n{body}"
        case {"type": "reasoning"}:
            return f"[Reasoning]\n{block['text']}"
        case _:
            return f"[Unexpected content type: {block['type']}]"


def _value(value):
    if isinstance(value, dict | list):
        return json.dumps(value, indent=2, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)
