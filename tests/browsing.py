"""A real browser for tests: where it is on this machine, and a page opened in it that tells everything that went wrong.

Run as a program it prints the path of the browser, or fails: that is how `make browser` asks.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
MAC = ("Google Chrome", "Chromium", "Microsoft Edge")
WINDOWS = (r"Google\Chrome\Application\chrome.exe", r"Chromium\Application\chrome.exe")
WINDOWS_FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")


def find_browser() -> str | None:
    """The path of a Chromium or Chrome; `PALAVER_BROWSER` decides where it is set."""
    if named := os.environ.get("PALAVER_BROWSER"):
        return shutil.which(named)
    on_path = (shutil.which(name) for name in NAMES)
    return next((path for path in (*on_path, *_usual_places()) if path and Path(path).is_file()), None)


def _usual_places() -> Iterator[str]:
    if sys.platform == "darwin":
        for folder in (Path("/Applications"), Path.home() / "Applications"):
            yield from (str(folder / f"{name}.app" / "Contents" / "MacOS" / name) for name in MAC)
    if sys.platform == "win32":
        for folder in filter(None, map(os.environ.get, WINDOWS_FOLDERS)):
            yield from (str(Path(folder) / place) for place in WINDOWS)


@contextmanager
def launched(executable: str) -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        # Chromium refuses to run as root inside its sandbox, and /dev/shm is tiny in containers.
        arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if is_root else [])]
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Opened:
    """A page in the browser, with what it said and asked for."""

    page: "Page"
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings on the console, and errors that nobody caught."""
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: "Browser", path: Path, **options: Any) -> Iterator[Opened]:
    """The file, opened from `file://` in a context of its own."""
    context = browser.new_context(**options)
    it = Opened(context.new_page())
    it.page.on("console", lambda said: it.complaints.append(said.text) if said.type in {"error", "warning"} else None)
    it.page.on("pageerror", lambda error: it.complaints.append(str(error)))
    context.on("request", lambda request: it.requests.append(request.url))
    try:
        it.page.goto(path.as_uri())
        yield it
    finally:
        context.close()


if __name__ == "__main__":
    print(find_browser() or sys.exit(1))  # noqa: T201
