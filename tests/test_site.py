"""The pages of the documentation: their links, the index that reaches all of them, `llms.txt`, and the site."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from urllib.parse import unquote

import pytest

from browsing import find_browser, launched, opened
from importing import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "docs"))
site_pages = importlib.import_module("site_pages")

_CODE = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    path.relative_to(CHECKOUT).as_posix()
    for pattern in ("*.md", "docs/*.md", "docs/llms.txt", "docs/examples/*.md", "benchmarks/*.md")
    for path in CHECKOUT.glob(pattern)
)


def links(name):
    """Every target of a page: of links, pictures and HTML attributes, outside of code."""
    text = _CODE.sub("", (CHECKOUT / name).read_text("utf-8"))
    found = re.findall(r"\]\(([^()\s]+)\)", text) + re.findall(r'\b(?:src|srcset|href)="([^"]+)"', text)
    return [unquote(target) for target in found if not re.match(r"[a-z]+:", target)]


def anchors(path):
    """The anchors of a page, as GitHub names them."""
    seen = {}
    for heading in _HEADING.findall(_FENCED.sub("", path.read_text("utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        yield f"{slug}-{seen[slug]}" if seen[slug] else slug


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name):
    broken = []
    for link in links(name):
        path, _, anchor = link.partition("#")
        target = (CHECKOUT / name).parent / path if path else CHECKOUT / name
        if not target.exists() or (anchor and anchor not in set(anchors(target))):
            broken.append(link)
    assert broken == []


def test_links_are_seen():
    assert len(links("docs/index.md")) > 20
    assert "docs/images/show-dark.svg" in links("README.md")
    assert "prices" in set(anchors(CHECKOUT / "docs" / "configuration.md"))


def test_every_page_is_reachable_from_the_index():
    reached, waiting = set(), ["docs/index.md"]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        for link in links(name):
            path = os.path.normpath((CHECKOUT / name).parent / link.partition("#")[0])
            found = os.path.relpath(path, CHECKOUT).replace(os.sep, "/")
            if found.endswith(".md") and found not in reached:
                waiting.append(found)
    pages = {name for name in PAGES if re.fullmatch(r"docs/[^/]+\.md", name)}
    assert pages - reached == set(), "link them in docs/index.md"


def test_every_page_is_in_the_lists_of_the_index():
    listed = re.findall(
        r"^\* \[[^\]]+\]\(([^)#]+)\): \S", (CHECKOUT / "docs" / "index.md").read_text("utf-8"), re.MULTILINE
    )
    pages = {path.name for path in (CHECKOUT / "docs").glob("*.md")} - {"index.md"}
    assert pages - set(listed) == set()
    assert len(listed) == len(set(listed))


def test_llms_txt_is_the_index():
    text = (CHECKOUT / "docs" / "llms.txt").read_text("utf-8")
    assert text == site_pages.llms_txt(), "run `make docs`"
    title, summary, *_ = text.split("\n\n")
    assert title == "# palaver"
    assert re.fullmatch(r"> .+\.", summary)
    assert re.findall(r"^- \[.+\]\(.+\): .+$", text, re.MULTILINE) == re.findall(r"^- .*$", text, re.MULTILINE)


def test_the_navigation_of_the_site_has_every_page():
    project = tomllib.loads((CHECKOUT / "zensical.toml").read_text("utf-8"))["project"]

    def pages(entries):
        for entry in entries:
            (value,) = entry.values()
            yield from pages(value) if isinstance(value, list) else [value]

    in_navigation = list(pages(project["nav"]))
    expected = {target for target in site_pages.site_paths().values() if target.endswith(".md")}
    assert set(in_navigation) == expected, "list it under `nav` in zensical.toml"
    assert len(in_navigation) == len(expected)


def test_links_are_rewritten_for_the_site():
    paths = {"README.md": "overview.md", "docs/cli.md": "cli.md", "schema/a.json": "schema/a.json"}
    text = "[`x`](../README.md#a) [y](../src/z.py) [s](../schema/a.json) [w](https://x.test/) `[k](../README.md)`"
    rewritten = "[`x`](overview.md#a) y [s](schema/a.json) [w](https://x.test/) `[k](../README.md)`"
    assert site_pages.page_for_site("docs/cli.md", text, paths) == rewritten
    assert site_pages.page_for_site("README.md", "```\n[a](docs/cli.md)\n```\n[a](docs/cli.md)", paths) == (
        "```\n[a](docs/cli.md)\n```\n[a](cli.md)"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly in a folder of its own: any broken link fails."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("docs", "schema", "benchmarks"):
        shutil.copytree(CHECKOUT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "data"))
    for name in [*(path.name for path in CHECKOUT.glob("*.md")), "zensical.toml"]:
        shutil.copyfile(CHECKOUT / name, root / name)
    words = [sys.executable, "docs/site_pages.py"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "site"


def test_the_site_has_every_page_and_what_they_link_to(site):
    for target in site_pages.site_paths().values():
        assert (site / target.replace(".md", ".html")).is_file(), target
    index = (site / "llms.txt").read_text("utf-8")
    assert "](benchmarks.md)" in index
    assert [name for name in re.findall(r"\]\(([^)]+)\)", index) if not (site / name).is_file()] == []


def test_pages_of_the_site_ask_for_nothing_outside(site):
    executable = find_browser()
    assert executable, "install Chromium, or name a browser in PALAVER_BROWSER"
    with launched(executable) as browser:
        for name in ("overview.html", "first-steps.html", "cli.html"):
            for width in (390, 1280):
                with opened(browser, site / name, viewport={"width": width, "height": 800}) as it:
                    it.page.wait_for_load_state()
                    assert it.complaints == []
                    assert [url for url in it.requests if not url.startswith(("file:", "data:", "blob:"))] == []
                    assert it.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_search_of_the_site_works_from_its_files(site):
    executable = find_browser()
    assert executable, "install Chromium, or name a browser in PALAVER_BROWSER"
    with launched(executable) as browser, opened(browser, site / "index.html") as it:
        it.page.keyboard.press("/")
        it.page.get_by_placeholder("Search").fill("cleanupPeriodDays")
        it.page.get_by_text("1 result").wait_for()
        assert it.complaints == []
