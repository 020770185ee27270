"""What Anthropic calls the fields of an exchange; messages and blocks stand where an exchange has them."""

from palaver.model.build import JsonObject
from palaver.wire._places import Places, Pointers, tool_pointers
from palaver.wire.anthropic._provider_data import NAME
from palaver.wire.anthropic._tools import tool_from_wire
from palaver.wire.anthropic._usage import CACHE_COUNTS

_FIELDS = {
    "max_output_tokens": ("max_tokens",),
    "sampling": ("",),
    "thinking": ("output_config/effort",),
    "output_format": ("output_config/format",),
    "output_format/json_schema": ("output_config/format/schema", "output_format/schema"),
    "user": ("metadata/user_id",),
    "parallel_tool_calls": ("tool_choice/disable_parallel_tool_use",),
    "response_id": ("id",),
    "finish_reason": ("stop_reason",),
    "service_tier": ("usage/service_tier",),
    "usage/thinking_tokens": ("usage/output_tokens_details/thinking_tokens",),
    **{f"usage/{ours}": (f"usage/{theirs}",) for ours, theirs in CACHE_COUNTS.items()},
    "parameters": ("input_schema",),
    "name": ("title",),
    "redacted_data": ("data",),
    "source/data": ("source/url", "source/file_id", "source/content"),
    "raw": ("",),
}


def payload_places(payload: JsonObject, part: JsonObject) -> Places:
    """Return where a request or response stands in the payload that it was read from."""
    tools = payload.get("tools") if "messages" in part else None
    pointers: Pointers = {}
    if isinstance(tools, list):
        pointers = tool_pointers(tools, NAME, lambda tool: tool_from_wire(tool) is not None)
    return Places(payload, NAME, _FIELDS, pointers)
