"""The pictures in `docs/images/`: commands in a terminal as SVG, the report page as PNG, each for light and dark pages.

    python docs/screenshots.py [NAME...]    all of them, or those that are named: show, report

Everything is printed by the real commands about the example home, so the SVG files change only when palaver's output
does. The PNG files need Chromium, whose version and fonts decide their bytes: commit them when they look different.
"""

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from example_home import WIDTH, example_environment, make_example_home
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TERMINALS = {"show": ("palaver", "show", "237cdee7")}
"""The commands that are shown in a terminal, by the name of their pictures."""
_PAGE_SIZE = {"width": 1200, "height": 880}
_CHECKED_AT = "13 July 2026, 12:00 UTC"


def _theme(background: str, foreground: str, normal: str, bright: str) -> TerminalTheme:
    """Return a theme from hexadecimal colours; the eight in a row are black, red, green, yellow, blue, … white."""

    def colours(row: str) -> list[tuple[int, int, int]]:
        return [(value[0], value[1], value[2]) for value in map(bytes.fromhex, row.split())]

    return TerminalTheme(*colours(background), *colours(foreground), colours(normal), colours(bright))


_SCHEMES = {
    # the background and the text of GitHub's pages, and colours that are readable on them
    "light": _theme(
        "ffffff",
        "1f2328",
        "1f2328 b42318 116329 7d4e00 0550ae 8250df 0e6274 5a636e",
        "57606a cf222e 1a7f37 9a6700 0969da 8250df 167286 1f2328",
    ),
    "dark": _theme(
        "0d1117",
        "e6edf3",
        "484f58 ff7b72 56d364 e3b341 79c0ff d2a8ff 56d4dd e6edf3",
        "6e7681 ffa198 7ee787 f2cc60 a5d6ff e2c5ff b3f0ff ffffff",
    ),
}
_FRAME_FOR_DARK_PAGES, _FRAME = 'stroke="rgba(255,255,255,0.35)"', 'stroke="#8b949e" stroke-opacity="0.5"'
# rich's own template asks the network for a font, and cuts the feet off the letters of the last line.
_SVG = """\
<svg class="{unique_id}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
{styles}
</style>
<defs>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main(names: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _make_archive(home)
        IMAGES.mkdir(exist_ok=True)
        for name in names or [*TERMINALS, "report"]:
            if name == "report":
                _draw_report(home)
            else:
                _draw_terminal(name, home)
    return 0


def _make_archive(home: Path) -> None:
    """Fill the archive that the pictures show."""
    make_example_home(home)
    _run(home, "palaver", "scan")
    _run(home, "palaver", "import", str(home / "Downloads" / "chatgpt-export.zip"))


def _run(home: Path, *words: str) -> str:
    done = subprocess.run(  # noqa: S603 - palaver itself
        [sys.executable, "-m", *words],
        cwd=home,
        env={**example_environment(home), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    return done.stdout.decode()


def _draw_terminal(name: str, home: Path) -> None:
    printed = _run(home, *TERMINALS[name]).rstrip()
    for scheme, theme in _SCHEMES.items():
        console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
        console.print(Text.assemble(("$ ", "dim"), (" ".join(TERMINALS[name]), "bold")))
        console.print(Text.from_ansi(printed))
        svg = console.export_svg(title="", theme=theme, code_format=_SVG, unique_id=f"{name}-{scheme}")
        svg = svg.replace(_FRAME_FOR_DARK_PAGES, _FRAME)
        text = "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"
        (IMAGES / f"{name}-{scheme}.svg").write_bytes(text.encode())


def _draw_report(home: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from browsing import find_browser, launched, opened

    executable = find_browser()
    if executable is None:
        raise SystemExit("no browser for the picture of the report: install Chromium, or name one in PALAVER_BROWSER")
    page = home / "report.html"
    _run(home, "palaver", "validate", "--report", str(page))
    page.write_text(re.sub(r"\d+ \w+ \d{4}, \d\d:\d\d UTC", _CHECKED_AT, page.read_text("utf-8")), "utf-8")
    with launched(executable) as browser:
        for scheme in _SCHEMES:
            with opened(browser, page, viewport=_PAGE_SIZE, color_scheme=scheme) as it:
                it.page.screenshot(path=IMAGES / f"report-{scheme}.png")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
