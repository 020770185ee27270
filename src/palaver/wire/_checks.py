"""Checks of what is given to a wire format: one line says what is wrong, before anything is read or written."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from palaver.errors import ContentError
from palaver.model.build import JsonObject

_Options = ParamSpec("_Options")
_Made = TypeVar("_Made")


def takes_payload(
    read: Callable[Concatenate[JsonObject, _Options], _Made],
) -> Callable[Concatenate[JsonObject, _Options], _Made]:
    """Let a reader refuse what is no object."""

    @wraps(read)
    def read_checked(payload: JsonObject, *args: _Options.args, **kwargs: _Options.kwargs) -> _Made:
        _check_object(payload, "a payload")
        return read(payload, *args, **kwargs)

    return read_checked


def takes_request(
    write: Callable[Concatenate[JsonObject, _Options], _Made],
) -> Callable[Concatenate[JsonObject, _Options], _Made]:
    """Let a writer refuse what is no request of an exchange."""

    @wraps(write)
    def write_checked(request: JsonObject, *args: _Options.args, **kwargs: _Options.kwargs) -> _Made:
        _check_object(request, "a request")
        messages = request.get("messages")
        if not isinstance(messages, list):
            raise ContentError("a request of an exchange has a list of `messages`")
        for number, message in enumerate(messages):
            _check_object(message, "a message")
            if not isinstance(message.get("role"), str):
                raise ContentError(f"message {number} of the request has no `role`")
            _check_content(message, f"message {number} of the request")
        if request.get("system") is not None:
            _check_content({"content": request["system"]}, "the system prompt")
        return write(request, *args, **kwargs)

    return write_checked


def takes_response(
    write: Callable[Concatenate[JsonObject, _Options], _Made],
) -> Callable[Concatenate[JsonObject, _Options], _Made]:
    """Let a writer refuse what is no response of an exchange."""

    @wraps(write)
    def write_checked(response: JsonObject, *args: _Options.args, **kwargs: _Options.kwargs) -> _Made:
        _check_object(response, "a response")
        _check_content(response, "the response")
        if not isinstance(response.get("finish_reason"), str):
            raise ContentError("the response has no `finish_reason`")
        return write(response, *args, **kwargs)

    return write_checked


def _check_object(value: Any, what: str) -> None:
    if not isinstance(value, dict):
        raise ContentError(f"{what} is an object, not a value of type {type(value).__name__}")


def _check_content(part: JsonObject, what: str) -> None:
    content = part.get("content")
    if not isinstance(content, list) or not all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in content
    ):
        raise ContentError(f"{what} has no list of blocks, each with a `type`")
