"""The documentation as a site: pages gathered for Zensical, with links that work there, and `llms.txt`.

    python docs/site_pages.py    gathers everything in build/pages, and builds site/ from it

The pages of the repository link to each other where they are, `../benchmarks/README.md` for one. The site is flat, so
links are rewritten; a link to a file that is no page of the site becomes plain text.
"""

import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "pages"
SITE = ROOT / "site"
OUTSIDE = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Pages outside of `docs/`, and their names on the site."""
_CODE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([^()\s]+)\)")
_ATTRIBUTE = re.compile(r'\b(src|srcset|href)="([^"]+)"')
_HIDDEN = re.compile(r"\x00(\d+)\x00")


def site_paths() -> dict[str, str]:
    """Return where each file of the site comes from: paths below the root, and their paths on the site."""
    pages = {f"docs/{page.name}": page.name for page in sorted((ROOT / "docs").glob("*.md"))}
    pictures = {f"docs/images/{picture.name}": f"images/{picture.name}" for picture in (ROOT / "docs/images").iterdir()}
    schemas = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "schema").rglob("*.json"))]
    return {**OUTSIDE, **pages, **pictures, **{path: path for path in schemas}}


def page_for_site(source: str, text: str, paths: dict[str, str]) -> str:
    """Return the text of a page, with links to where their targets are on the site."""

    def link(found: re.Match[str]) -> str:
        target = _target_on_site(source, found[2], paths)
        return found[1] if target is None else f"[{found[1]}]({target})"

    def attribute(found: re.Match[str]) -> str:
        target = _target_on_site(source, found[2], paths)
        return f'{found[1]}="{found[2] if target is None else target}"'

    def rewrite(prose: str) -> str:
        return _ATTRIBUTE.sub(attribute, _LINK.sub(link, prose))

    return _outside_code(text, rewrite)


def llms_txt(root: Path = ROOT) -> str:
    """Return the index for language models (llmstxt.org), from the lists of `docs/index.md`."""
    title, summary, *rest = (root / "docs" / "index.md").read_text("utf-8").split("\n\n", 2)
    summary = " ".join(summary.split("\n")[:1])
    lists = "\n".join(line.replace("* [", "- [", 1) for line in rest[0].splitlines())
    return f"{title}\n\n> {summary}\n\n{lists.strip()}\n"


def gather() -> None:
    """Write the pages for Zensical, and what belongs beside them."""
    shutil.rmtree(PAGES, ignore_errors=True)
    paths = site_paths()
    for source, target in paths.items():
        place = PAGES / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            place.write_text(page_for_site(source, (ROOT / source).read_text("utf-8"), paths), "utf-8")
        else:
            shutil.copyfile(ROOT / source, place)
    shutil.copytree(ROOT / "docs" / "site_files", PAGES, dirs_exist_ok=True)
    index = page_for_site("docs/llms.txt", (ROOT / "docs" / "llms.txt").read_text("utf-8"), paths)
    (PAGES / "llms.txt").write_text(index, "utf-8")


def _outside_code(text: str, rewrite: Callable[[str], str]) -> str:
    """Rewrite everything but code, which may also stand within the text of a link."""
    code: list[str] = []

    def hide(found: re.Match[str]) -> str:
        code.append(found[0])
        return f"\0{len(code) - 1}\0"

    return _HIDDEN.sub(lambda found: code[int(found[1])], rewrite(_CODE.sub(hide, text)))


def _target_on_site(source: str, target: str, paths: dict[str, str]) -> str | None:
    """Return the target of a link as seen from its page on the site, or None if it is not there."""
    path, mark, anchor = target.partition("#")
    if not path or ":" in path:
        return target
    there = paths.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
    if there is None:
        return None
    here = posixpath.dirname(paths.get(source, ""))
    return os.path.relpath(there, here or ".").replace(os.sep, "/") + mark + anchor


def build() -> int:
    """Build the site; a broken link stops it. The sources of the pages lie beside them, as llms.txt promises."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=ROOT, check=False)  # noqa: S603 - the generator of this environment
    if done.returncode == 0:
        for page in PAGES.glob("*.md"):
            shutil.copyfile(page, SITE / page.name)
    return done.returncode


if __name__ == "__main__":
    gather()
    sys.exit(build())
