"""`palaver` alone: what is in the archive, what a scan would bring in, and what to do next."""

from palaver.archive.contents import Contents, archive_contents
from palaver.cli._archive import archive_path, open_for_reading
from palaver.cli._terminal import output
from palaver.importers import locations
from palaver.workflows.news import News, find_news

_LOOK_SECONDS = 1.0


def home(*, as_json: bool) -> None:
    path = archive_path()
    contents = Contents([], None)
    if path.exists():
        with open_for_reading() as connection:
            contents = archive_contents(connection)
    news = find_news(path, locations(), seconds=_LOOK_SECONDS)
    steps = _steps(contents, news)
    if as_json:
        output.answer_json(_described(str(path), contents, news, list(steps)))
        return
    from palaver.cli._terminal.home import home_screen

    for part in home_screen(contents, news, steps, archive=path if path.exists() else None):
        output.answer(part)


def _steps(contents: Contents, news: News) -> dict[str, str]:
    """Return three commands that fit, each with its purpose."""
    if not contents.platforms:
        return {
            "palaver scan": "import what assistants keep here",
            "palaver import PATH": "import files from elsewhere",
            "palaver demo": "look around in sample conversations",
        }
    steps = {
        "palaver scan": "bring in what is new",
        "palaver list": "the conversations, the latest first",
        "palaver search WORDS": "find messages",
        "palaver stats": "messages, tokens and costs",
    }
    del steps["palaver stats" if news.files or news.outdated else "palaver scan"]
    return steps


def _described(archive: str, contents: Contents, news: News, steps: list[str]) -> dict[str, object]:
    return {
        "archive": archive,
        "conversations": sum(held.conversations for held in contents.platforms),
        "messages": sum(held.messages for held in contents.platforms),
        "platforms": [held._asdict() for held in contents.platforms],
        "last_import": contents.last_import,
        "new_files": dict(news.files),
        "outdated_sources": dict(news.outdated),
        "is_complete": news.is_complete,
        "next": steps,
    }
