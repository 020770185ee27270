"""What a tool gave back: words, pictures, exit codes, or an error."""

from typing import Any

from palaver.importers.github_copilot.events.media import binaries
from palaver.model import build
from palaver.model.build import JsonObject


def tool_result(call_id: str, data: JsonObject) -> JsonObject:
    success, error, result = data.get("success"), data.get("error"), data.get("result")
    metadata: JsonObject = {}
    content = _content(result, metadata)
    is_error = success is False or (success is None and isinstance(error, dict))
    if success is not None and not isinstance(success, bool):
        metadata["success"] = success
    match error:
        case None:
            pass
        case {"message": str(message), **rest} if not content:
            content = message
            if rest:
                metadata["error"] = rest
        case _:
            metadata["error"] = error
    return build.tool_result(tool_use_id=call_id, content=content, is_error=is_error, metadata=metadata or None)


def _content(result: Any, metadata: JsonObject) -> str | list[JsonObject]:
    match result:
        case None:
            return ""
        case str():
            return result
        case {"content": str(content)}:
            return _of_command_line(content, result, metadata)
        case {"result": list(values)}:
            metadata.update({name: value for name, value in result.items() if name != "result" and value is not None})
            return _of_jetbrains(values)
        case _:
            return [build.opaque(kind="result", raw=result)]


def _of_command_line(content: str, result: JsonObject, metadata: JsonObject) -> str | list[JsonObject]:
    """The words that the model got; what was shown beside them is kept where it says more."""
    pictures: list[JsonObject] = []
    for name, value in result.items():
        if name == "content" or value is None:
            continue
        if name == "binaryResultsForLlm":
            pictures = binaries(value)
        elif name == "contents":
            _keep_contents(value, content, metadata)
        elif name != "detailedContent" or value != content:
            metadata[name] = value
    return [build.text(content), *pictures] if pictures else content


def _keep_contents(contents: Any, content: str, metadata: JsonObject) -> None:
    """Typed parts; one that says what the words say adds nothing but its exit code."""
    match contents:
        case [{"type": "text", "text": str(text)} as only] if text == content and len(only) == 2:
            return
        case list():
            for part in contents:
                match part:
                    case {"exitCode": int(code)} if type(code) is int:
                        metadata["exit_code"] = code
                    case _:
                        pass
        case _:
            pass
    metadata["contents"] = contents


def _of_jetbrains(values: list[Any]) -> str | list[JsonObject]:
    match values:
        case [{"type": "text", "value": str(only), **rest}] if not rest:
            return only
        case _:
            return [_value(value) for value in values]


def _value(value: Any) -> JsonObject:
    match value:
        case {"type": "text", "value": str(text), **rest} if not rest:
            return build.text(text)
        case _:
            return build.opaque(kind="result", raw=value)
