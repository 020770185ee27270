"""Names of platforms as people type them: an id or a title, in any case, with or without spaces and hyphens."""

from collections.abc import Iterable
from functools import cache

from palaver.errors import UnrecognizedError
from palaver.importers import importer, platforms


def resolve_platform(text: str, others: Iterable[str] = ()) -> str:
    """Return the id of the platform that `text` names: `ChatGPT`, `chat-gpt` and `CHATGPT` are all `chatgpt`.

    `others` are ids of platforms without an importer, such as those that the archive got from other programs. Raise
    UnrecognizedError, with the platforms that `text` may have meant or else all of them, if no platform has that name.
    """
    known = sorted({*platforms(), *others})
    if text in known:
        return text
    by_name = {_folded(platform): platform for platform in known}
    wanted = _folded(text)
    if wanted in by_name:
        return by_name[wanted]
    # Titles are looked at last: they are known to the importers, all of which this loads.
    by_name |= {_folded(importer(platform).title): platform for platform in platforms()}
    if wanted in by_name:
        return by_name[wanted]
    if meant := _similar(wanted, by_name):
        raise UnrecognizedError(f"unknown platform {text!r}: did you mean {' or '.join(meant)}?")
    raise UnrecognizedError(f"unknown platform {text!r}: choose one of {', '.join(known)}")


@cache
def platform_title(platform: str) -> str:
    """Return the platform's title, or its id if this version of palaver has no importer for it."""
    return importer(platform).title if platform in platforms() else platform


def is_platform(text: str) -> bool:
    """Return whether `text` is the name of a platform, as `resolve_platform` reads it."""
    try:
        resolve_platform(text)
    except UnrecognizedError:
        return False
    return True


def _folded(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _similar(wanted: str, by_name: dict[str, str]) -> list[str]:
    """Return the platforms whose name contains this one, or else those that are a typo away from it."""
    from difflib import get_close_matches

    names = [name for name in by_name if len(wanted) > 2 and wanted in name]
    return sorted({by_name[name] for name in names or get_close_matches(wanted, by_name, cutoff=0.75)})
