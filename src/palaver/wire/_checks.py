"""Checks of what is given to a wire format: one line says what is wrong, before anything is read or written."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from palaver.errors import ContentError
from palaver.model.build import JsonObject

_Options = ParamSpec("_Options")
_Made = TypeVar("_Made")
_Function = Callable[Concatenate[JsonObject, _Options], _Made]


def takes_payload(read: _Function[_Options, _Made]) -> _Function[_Options, _Made]:
    """Let a reader refuse what is no object."""
    return _checked(read, lambda payload: _check_object(payload, "a payload"))


def takes_request(write: _Function[_Options, _Made]) -> _Function[_Options, _Made]:
    """Let a writer refuse what is no request of an exchange."""
    return _checked(write, _check_request)


def takes_response(write: _Function[_Options, _Made]) -> _Function[_Options, _Made]:
    """Let a writer refuse what is no response of an exchange."""
    return _checked(write, _check_response)


def _checked(function: _Function[_Options, _Made], check: Callable[[Any], None]) -> _Function[_Options, _Made]:
    @wraps(function)
    def checked(part: JsonObject, *args: _Options.args, **kwargs: _Options.kwargs) -> _Made:
        check(part)
        return function(part, *args, **kwargs)

    return checked


def _check_request(request: Any) -> None:
    _check_object(request, "a request")
    messages = request.get("messages")
    if not isinstance(messages, list):
        raise ContentError("the request of an exchange needs a list of `messages`")
    for number, message in enumerate(messages):
        _check_object(message, "a message")
        if not isinstance(message.get("role"), str):
            raise ContentError(f"message {number} of the request has no `role`")
        _check_content(message, f"message {number} of the request")
    if request.get("system") is not None:
        _check_content({"content": request["system"]}, "the system prompt")


def _check_response(response: Any) -> None:
    _check_object(response, "a response")
    _check_content(response, "the response")
    if not isinstance(response.get("finish_reason"), str):
        raise ContentError("the response has no `finish_reason`")


def _check_object(value: Any, what: str) -> None:
    if not isinstance(value, dict):
        raise ContentError(f"{what} must be an object, not a value of type {type(value).__name__}")


def _check_content(part: JsonObject, what: str) -> None:
    content = part.get("content")
    if not isinstance(content, list) or not all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in content
    ):
        raise ContentError(f"{what} needs a list of blocks, each with a `type`")
