"""The forms of traces, the names that they give, and attributes in which something was said."""

OTLP, DUMP, DEBUG = "spans:otlp", "spans:dump", "spans:debug"

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
SYSTEM, TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
REASONING, TYPED = "copilot_chat.reasoning_content", "copilot_chat.user_request"
CONTENT = frozenset({INPUT, OUTPUT, SYSTEM, TOOLS, ARGUMENTS, RESULT, REASONING, TYPED})
"""What was said is kept as it was said."""

OPERATION, CONVERSATION = "gen_ai.operation.name", "gen_ai.conversation.id"

OWN_NAMES = frozenset(
    {
        *("attributes", "span", "spans", "events", "prompt", "resource", "metrics", "opaque_parts", "trace_id"),
        *("span_id", "parent_span_id", "source_id", "result", "unread", "log", "stated_role"),
        *("helper", "unanswered", "answer_cut", "request", "response", "error", "instructions"),
    }
)
KNOWN_KINDS: frozenset[str] = frozenset({"result"})
