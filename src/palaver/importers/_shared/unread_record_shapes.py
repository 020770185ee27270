"""The JSON records of formats that have no importer yet, each recognized by the keys that it must have."""

import re

from palaver.model.build import JsonObject

MARKS = re.compile(
    rb'"(?:payload|record_type|instructions|session_id|thread_name|message|projectHash|messageId|projectID|sessionID'
    rb"|history|products|conversation_turns|chunkedPrompt|textPrompt|dataPrompt|responses|conversationId|folders"
    rb"|working_dir|parentUuid|T-[^\"]+|kind|ATIF-v[^\"]+|resourceSpans|resourceLogs|cwd|cliSessionId"
    rb'|currentlySelected|chatId)"'
)
"""Every record of these formats contains one of these texts, so that most other files need not be parsed."""

_CODEX_LINES = frozenset(
    {
        *("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"),
        *("inter_agent_communication", "inter_agent_communication_metadata", "security_risk_score"),
    }
)


def is_codex_line(record: JsonObject) -> bool:
    match record:
        case {"timestamp": _, "type": str(kind), "payload": dict()}:
            return kind in _CODEX_LINES
        case {"record_type": "state"} | {"session": {"id": _, "instructions": _}, "items": list()}:
            return True
        case {"id": str(), "timestamp": str(), "instructions": _}:
            return record.keys() <= {"id", "timestamp", "instructions", "git"}
        case _:
            return False


def is_codex_prompt(record: JsonObject) -> bool:
    match record:
        case {"session_id": str(), "ts": int(), "text": str()}:
            return len(record) == 3
        case _:
            return False


def is_codex_index_line(record: JsonObject) -> bool:
    match record:
        case {"id": str(), "thread_name": str(), "updated_at": _}:
            return len(record) == 3
        case _:
            return False


def is_cursor_turn(record: JsonObject) -> bool:
    match record:
        case {"role": "user" | "assistant", "message": {"content": list()}}:
            return record.keys().isdisjoint({"uuid", "timestamp", "type"})
        case _:
            return False


def is_gemini_cli(record: JsonObject) -> bool:
    match record:
        case {"sessionId": str(), "projectHash": str()}:
            return True
        case {"sessionId": str(), "messageId": int(), "type": "user", "message": str(), "timestamp": _}:
            return True
        case _:
            return False


def is_opencode(record: JsonObject) -> bool:
    match record:
        case {"id": str(session), "projectID": str()}:
            return session.startswith("ses_")
        case {"id": str(part), "sessionID": str(session)}:
            return part.startswith(("msg_", "prt_")) and session.startswith("ses_")
        case _:
            return False


def is_open_webui(record: JsonObject) -> bool:
    match record:
        case {"chat": {"history": {"messages": dict()}}} | {"models": list(), "history": {"messages": dict()}}:
            return True
        case _:
            return False


def is_gemini_activity(record: JsonObject) -> bool:
    match record:
        case {"header": str(header), "title": str(), "time": str(), "products": list(products)}:
            return header in {"Gemini Apps", "Bard"} or "Gemini Apps" in products or "Bard" in products
        case {"conversation_turns": list(turns)}:
            return any(isinstance(turn, dict) and ("user_turn" in turn or "system_turn" in turn) for turn in turns)
        case _:
            return False


def is_ai_studio(record: JsonObject) -> bool:
    match record:
        case (
            {"chunkedPrompt": dict()}
            | {"runSettings": dict(), "textPrompt": _}
            | {"runSettings": dict(), "dataPrompt": _}
        ):
            return True
        case _:
            return False


def is_grok(record: JsonObject) -> bool:
    match record:
        case {"conversations": [{"conversation": dict(), "responses": list()}, *_]}:
            return True
        case _:
            return False


def is_librechat(record: JsonObject) -> bool:
    match record:
        case {"conversationId": str(), "messages": list(), "exportAt": _} | {
            "conversationId": str(),
            "messages": list(),
            "endpoint": str(),
        }:
            return True
        case {"messageId": str(), "conversationId": str(), "isCreatedByUser": bool()}:
            return True
        case _:
            return False


def is_chatbot_ui(record: JsonObject) -> bool:
    match record:
        case {"version": int(), "history": list(), "folders": list(), "prompts": list()}:
            return True
        case _:
            return False


def is_goose_header(record: JsonObject) -> bool:
    match record:
        case {"working_dir": str(), "description": str(), "message_count": int()}:
            return "role" not in record
        case _:
            return False


def is_qwen(record: JsonObject) -> bool:
    match record:
        case {"uuid": str(), "parentUuid": _, "sessionId": str(), "message": {"parts": list()}}:
            return True
        case _:
            return False


def is_amp(record: JsonObject) -> bool:
    match record:
        case {"id": str(thread), "created": int(), "messages": list()}:
            return thread.startswith("T-")
        case _:
            return False


def is_kiro(record: JsonObject) -> bool:
    match record:
        case {"kind": "Prompt" | "AssistantMessage" | "ToolResults", "data": dict()}:
            return True
        case _:
            return False


def is_atif(record: JsonObject) -> bool:
    match record:
        case {"schema_version": str(version)}:
            return version.startswith("ATIF-v")
        case _:
            return False


def is_otlp(record: JsonObject) -> bool:
    match record:
        case {"resourceSpans": list()} | {"resourceLogs": list()}:
            return True
        case _:
            return False


def is_pi(record: JsonObject) -> bool:
    match record:
        case {"type": "session", "id": str(), "timestamp": _, "cwd": str()}:
            return True
        case _:
            return False


def is_droid(record: JsonObject) -> bool:
    match record:
        case {"type": "session_start", "id": str(), "cwd": str()}:
            return True
        case _:
            return False


def is_cowork(record: JsonObject) -> bool:
    match record:
        case {"sessionId": str(), "cliSessionId": str(), "cwd": str(), "lastActivityAt": _}:
            return True
        case _:
            return False


def is_lm_studio(record: JsonObject) -> bool:
    match record:
        case {"messages": [{"versions": list(), "currentlySelected": int()}, *_]}:
            return True
        case _:
            return False


def is_le_chat(record: JsonObject) -> bool:
    match record:
        case {"chatId": str(), "role": str(), "contentChunks": _}:
            return True
        case _:
            return False
