"""The HTML report: nothing in it can break it, nothing is asked for, and a real browser shows it as it should."""

import re
from base64 import b64encode
from copy import deepcopy
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from browsing import opened
from palaver.model.json_output.checks import Report
from palaver.validation.html_report import render_html
from palaver.validation.html_report.components import moment, percent, shortened, size
from palaver.validation.html_report.markup import Markup, breakable, inlined, joined, lines, tag
from palaver.validation.report import headline

Json = dict[str, Any]

HOSTILE = """<script>window.pwned=1</script><img src=x onerror="window.pwned=1"></style></title>'javascript:pwned=1//"""
WORDS_OF_THE_SHAPE = {"subject", "level", "stage", "severity"}
COUNTED_BY_NAME = {"skipped", "quarantined", "findings", "roles", "blocks", "versions"}
VOID = {"input", "link", "meta", "wbr"}
SCHEMES = ("light", "dark")
WIDTHS = (1280, 360)


# A report, in small.


def records(read=0, *, folded=0, skipped=0, quarantined=0) -> Json:
    return {
        "read": read,
        "mapped": read - folded - skipped - quarantined,
        "folded": folded,
        "skipped": {"progress": skipped} if skipped else {},
        "quarantined": {"bad-json": quarantined} if quarantined else {},
    }


def severities(error=0, warning=0, note=0) -> Json:
    return {"error": error, "warning": warning, "note": note}


def source(path, messages=10, *, error=0, warning=0, failure=None) -> Json:
    return {
        "source": path,
        "read_as": "claude_code",
        "valid": not error and failure is None,
        "bytes": messages * 1000,
        "documents": 1,
        "conversations": 1,
        "messages": messages,
        "records": records(messages * 2, folded=messages // 2, skipped=messages // 5, quarantined=error),
        "severities": severities(error, warning),
        "findings": {"bad-json": error} if error else {},
        "failure": failure,
    }


def example(path, **places) -> Json:
    known = {"line": None, "where": "", "conversation_id": None, "pointer": None, "excerpt": None}
    return {"source": path, "message": "It is not JSON", **known, **places}


def group(code, severity="error", examples=(), times=3) -> Json:
    return {
        "code": code,
        "stage": "reading",
        "severity": severity,
        "meaning": "A record is not JSON.",
        "count": times,
        "sources": 1,
        "examples": list(examples),
    }


def coverage(platform, title) -> Json:
    shares = {"conversation_id": 4, "context.workspace.path": 1, "messages[].tokens.service_tier": 0}
    return {
        "platform": platform,
        "title": title,
        "conversations": 4,
        "messages": 40,
        "roles": {"user": 20, "assistant": 20},
        "blocks": {"text": 30, "tool_use": 10},
        "versions": {"2.0.1": 4},
        "fields": [{"field": name, "conversations": n, "share": n / 4} for name, n in shares.items()],
        "unmapped": [{"field": "messages[].metadata.requestId", "conversations": 3, "share": 0.75, "count": 1200}],
        "unmapped_more": 5,
    }


def report(*sources, **fields) -> Json:
    every = list(sources)
    total = records()
    for one in every:
        for name, value in one["records"].items():
            if isinstance(value, dict):
                for key, number in value.items():
                    total[name][key] = total[name].get(key, 0) + number
            else:
                total[name] += value
    made = {
        "schema_version": "1.0.0",
        "palaver_version": "0.1.0",
        "generated_at": "2026-08-01T09:41:07.000Z",
        "subject": "paths",
        "level": "standard",
        "rules": [],
        "valid": all(one["valid"] for one in every),
        "refused": [],
        "unclaimed": [],
        "totals": {
            **{name: sum(one[name] for one in every) for name in ("bytes", "documents", "conversations", "messages")},
            "sources": len(every),
            "invalid_documents": 0,
            "records": total,
            "severities": {tone: sum(one["severities"][tone] for one in every) for tone in severities()},
        },
        "sources": every,
        "findings": [],
        "coverage": [],
        "drift": [],
        **fields,
    }
    Report.model_validate(made)
    return made


def troubled(**fields) -> Json:
    """A report with something in every section."""
    places = {"line": 7, "where": "line 7", "conversation_id": "c-1", "pointer": "/messages/0", "excerpt": "{,\n}"}
    drift = {"platform": "chatgpt", "kind": "widget", "version": "9", "count": 2, "source": "a", "conversation_id": "c"}
    return report(
        source("/home/ada/projects/good.jsonl", 30),
        source("/home/ada/projects/broken.jsonl", 1200, error=3, warning=1),
        source("/home/ada/" + "deep/" * 30 + "cut.jsonl", 5, failure="The file ends within a record."),
        **{
            "rules": ["missing-parent"],
            "refused": ["/mnt/secret: permission denied."],
            "unclaimed": ["/home/ada/notes.txt"],
            "findings": [
                group("bad-json", examples=[example("/home/ada/projects/broken.jsonl", **places), example("")]),
                group("time-goes-back", "warning", times=1),
                group("carriage-returns", "note", times=4321),
            ],
            "coverage": [coverage("claude_code", "Claude Code"), coverage("chatgpt", "")],
            "drift": [drift, {**drift, "version": None}],
            **fields,
        },
    )


def planted(made: Json) -> tuple[Json, list[str]]:
    """The report with hostile text in the place of every text, and all these texts."""
    texts: dict[str, str] = {}

    def text(harmless: str) -> str:
        return texts.setdefault(harmless, f"{HOSTILE}{len(texts)};")

    def walk(value: Any, name: str) -> Any:
        match value:
            case dict() if name in COUNTED_BY_NAME:
                return {text(key): number for key, number in value.items()}
            case dict():
                return {key: walk(inner, key) for key, inner in value.items()}
            case list():
                return [walk(inner, "") for inner in value]
            case str() if value and name not in WORDS_OF_THE_SHAPE:
                return text(value)
            case _:
                return value

    hostile = walk(deepcopy(made), "")
    Report.model_validate(hostile)
    return hostile, list(texts.values())


# What the page is made of.


class Elements(HTMLParser):
    """Reads a page, and holds it to be well formed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.attributes: list[tuple[str, str, str]] = []
        self.counts: dict[str, int] = {}
        self.inline: dict[str, str] = {}
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] in {"style", "script"}:
            self.inline[self._open[-1]] = data
        else:
            self.text.append(data)

    def values(self, attribute: str) -> list[str]:
        return [value for _, name, value in self.attributes if name == attribute]

    @property
    def words(self) -> str:
        return "".join(self.text)


def test_text_is_escaped_and_markup_is_not():
    inner = tag("b", '1 < 2 & "3"', class_='"><script>')
    assert tag("p", inner, " <i>") == ('<p><b class="&quot;&gt;&lt;script&gt;">1 &lt; 2 &amp; "3"</b> &lt;i&gt;</p>')


def test_markup_that_is_joined_to_text_is_text_again():
    assert tag("p", tag("b", "x") + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[0m", r"\x1b"),
        ("a\x00b", r"\x00"),
        ("a\nb", r"\x0a"),
        ("photo\u202egpj.exe", r"\u202e"),
        ("\u2066x\u2069", r"\u2066"),
        ("\ufeff", r"\ufeff"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_shows_nothing_is_spelled_out(text, shown):
    hidden = {character for character in text if not character.isalnum() and character not in "[."}
    for html in (tag("p", text), tag("p", title=text), breakable(text, "/")):
        assert shown in html
        assert not hidden & set(html)


def test_an_excerpt_keeps_its_lines():
    assert tag("pre", lines("{\r\n<}")) == '<pre>{<span class="unseen">\\x0d</span>\n&lt;}</pre>'


def test_numbers_have_separators_but_not_in_attributes():
    assert tag("td", 1234567, data_value=1234567) == '<td data-value="1234567">1,234,567</td>'


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("p", {"style": "color:red"}),
        ("p", {"onclick": "x()"}),
        ("a", {"href": "javascript:x()"}),
        ("a", {"href": "page.html"}),
        ("p onclick=x", {}),
        ("p", {"x y": "z"}),
    ],
)
def test_what_the_policy_forbids_cannot_be_built(name, attributes):
    with pytest.raises(ValueError, match=r"forbids|links to itself|not the name"):
        tag(name, **attributes)


def test_a_script_cannot_be_left():
    with pytest.raises(ValueError, match="would end"):
        inlined("script", "'</script>'")


def test_only_markup_is_markup():
    assert isinstance(joined("<", tag("b")), Markup)
    assert joined("<", None, tag("b")) == "&lt;<b></b>"


def test_sizes_shares_and_times_are_for_readers():
    assert [size(n) for n in (0, 999, 1000, 99_400, 999_499, 999_500, 123_456_789, 5 * 10**13)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "99.4 kB",
        "999 kB",
        "1.0 MB",
        "123 MB",
        "50.0 TB",
    ]
    assert [percent(share) for share in (0, 0.0001, 0.125, 0.9999, 1)] == ["0%", "<0.1%", "12.5%", ">99.9%", "100%"]
    assert moment("2026-08-01T09:41:07.000Z") == "1 August 2026, 09:41 UTC"
    assert moment("soon") == "soon"


def test_paths_lose_their_front():
    assert shortened("/a/b.jsonl") == "/a/b.jsonl"
    assert shortened("/home/ada/projects/x/session.jsonl", 20) == "…/x/session.jsonl"
    assert shortened("x" * 100, 20) == "…" + "x" * 19


# The page.


def test_the_page_is_well_formed():
    elements = Elements(render_html(troubled()))
    names = elements.values("id")
    assert len(names) == len(set(names))
    assert {link[1:] for link in elements.values("href") if link != "data:,"} <= set(names)
    assert set(elements.values("aria-labelledby")) <= set(names)
    order = [
        name for name in names if name in {"summary", "ledger", "sources", "findings", "coverage", "drift", "unread"}
    ]
    assert order == ["summary", "ledger", "sources", "findings", "coverage", "drift", "unread"]


def test_the_policy_allows_the_own_style_and_script_only():
    elements = Elements(render_html(troubled()))
    (policy,) = [value for value in elements.values("content") if "default-src" in value]
    hashes = {
        name: f"'sha256-{b64encode(sha256(elements.inline[name].encode()).digest()).decode()}'"
        for name in ("style", "script")
    }
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == hashes["style"]
    assert rules["script-src"] == hashes["script"]
    assert rules["img-src"] == "data:"
    assert elements.counts["style"] == elements.counts["script"] == 1


def test_the_page_names_no_address():
    html = render_html(troubled())
    elements = Elements(html)
    assert re.findall(r"(?i)(?:https?|wss?|ftp):|url\((?!#)|@import", html) == []
    assert elements.values("src") == []
    assert ("link", "href", "data:,") in elements.attributes, "without an icon of its own a browser asks for one"
    assert [name for _, name, _ in elements.attributes if name == "style" or name.startswith("on")] == []


def test_hostile_text_makes_no_element():
    harmless = Elements(render_html(troubled()))
    made, texts = planted(troubled())
    hostile = Elements(render_html(made))
    for dotted in ("span", "wbr"):
        hostile.counts[dotted] = harmless.counts[dotted]
    assert hostile.counts == harmless.counts
    shown = hostile.words + "".join(hostile.values("title"))
    assert [text for text in texts if text not in shown] == []


def test_an_empty_report_says_what_is_empty():
    words = Elements(render_html(report())).words
    for sentence in (
        "No records were read.",
        "No sources were read.",
        "No problems found.",
        "No conversations were read",
        "None: every kind of record is known.",
    ):
        assert sentence in words


def test_the_verdict_tells_why():
    words = Elements(render_html(troubled())).words
    assert "3 errors while reading" in words
    assert "3 errors, 1 source that could not be read to the end and 1 path that could not be checked." in words
    assert "2 of 3 sources are not valid." in words
    strict = render_html(report(source("a", warning=2), level="strict", valid=False))
    assert "2 warnings." in Elements(strict).words


def test_the_ledger_adds_up_or_says_that_it_does_not():
    made = report(source("a", 1000))
    words = Elements(render_html(made)).words
    assert "2,000 records read = 1,300 mapped + 500 folded + 200 skipped by rule + 0 quarantined." in words
    assert "does not add up" not in words
    made["totals"]["records"]["mapped"] -= 100
    words = Elements(render_html(made)).words
    assert "+ 100 unaccounted." in words
    assert "does not add up" in words


def test_sources_with_trouble_stand_first():
    words = Elements(render_html(troubled())).words
    words = words[words.index("most problems first") :]
    assert words.index("cut.jsonl") < words.index("broken.jsonl") < words.index("good.jsonl")


def test_long_paths_are_whole_in_the_title():
    made = troubled()
    assert made["sources"][2]["source"] in Elements(render_html(made)).values("title")


def test_many_sources_stay_bounded():
    path = "/home/ada/.claude/projects/-home-ada-work-{0}/0b5f7c3e-6a7f-4b8e-9a51-0d5be11f{0:04}.jsonl"
    sources = [source(path.format(n), 10 + n % 7, warning=n % 2) for n in range(9_997)]
    sources += [source(f"/bad/{n}", 100, error=1) for n in range(3)]
    examples = [example(path.format(n), excerpt="x" * 300, pointer="/messages/3") for n in range(10)]
    made = report(*sources, findings=[group(f"code-{n}", examples=examples, times=50) for n in range(60)])
    html = render_html(made)
    words = Elements(html).words
    assert len(html.encode()) < 3_000_000
    assert words.count("/bad/") == 6
    assert words.count("9,500 more sources") == 2
    drawn = sorted(sources, key=lambda one: (one["valid"], -one["severities"]["error"], -one["severities"]["warning"]))
    assert f"{sum(one['messages'] for one in drawn[500:]):,}" in words


def test_the_chart_shows_the_most_frequent_of_each_severity():
    groups = [group(f"grave-{n}", times=100 - n) for n in range(20)] + [group("slight", "note", times=1)]
    words = Elements(render_html(report(findings=groups))).words
    chart = words[words.index("Findings by code") : words.index("Filter findings")]
    assert "grave-7" in chart
    assert "grave-8" not in chart
    assert "slight" in chart
    assert f"12 more codes, together {sum(100 - n for n in range(8, 20)):,}" in chart


def test_the_chart_tells_stages_apart_where_they_share_a_code():
    groups = [group("parent-cycle"), {**group("parent-cycle"), "stage": "rule"}, group("bad-json")]
    words = Elements(render_html(report(findings=groups))).words
    chart = words[words.index("Findings by code") : words.index("Filter findings")]
    assert re.findall(r"(parent-cycle|bad-json)([a-z]*)", chart) == [
        ("parent-cycle", "reading"),
        ("parent-cycle", "rule"),
        ("bad-json", ""),
    ]


def test_the_platform_with_most_conversations_stands_first():
    words = Elements(
        render_html(report(coverage=[{**coverage("small", ""), "conversations": 1}, coverage("large", "")]))
    ).words
    assert words.index("large") < words.index("small")


def test_unclaimed_files_are_counted_after_the_first():
    words = Elements(render_html(report(unclaimed=[f"/x/{n}" for n in range(130)]))).words
    assert "130 files skipped: not conversations" in words
    assert "/x/99" in words
    assert "/x/100" not in words
    assert "and 30 more files" in words


# In a browser.


@pytest.fixture
def written(tmp_path):
    def write(made: Json):
        path = tmp_path / "report.html"
        path.write_text(render_html(made), "utf-8", newline="\n")
        return path

    return write


def overflow(shown) -> int:
    return shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def open_everything(shown) -> None:
    shown.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("is_hostile", [False, True], ids=["usual", "hostile"])
def test_a_browser_shows_it_without_complaint(browser, written, scheme, width, is_hostile):
    made, texts = planted(troubled()) if is_hostile else (troubled(), ["/home/ada/projects/broken.jsonl", "4,321"])
    path = written(made)
    with opened(browser, path, color_scheme=scheme, viewport={"width": width, "height": 800}) as it:
        open_everything(it.page)
        assert overflow(it.page) <= 0
        shown = it.page.inner_text("body") + it.page.evaluate(
            "[...document.querySelectorAll('[title]')].map((titled) => titled.title).join('')"
        )
        assert [text for text in texts if text not in shown] == []
        assert it.page.evaluate("window.pwned") is None
        assert it.page.locator("img, main script").count() == 0
        assert it.complaints == []
        assert it.requests == [path.as_uri()]


CONTRASTS = """() => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([red, green, blue]) => [red, green, blue]
    .map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (part) => {
    for (; part; part = part.parentElement) {
      const color = channels(getComputedStyle(part).backgroundColor);
      if (color.length === 3) return color;
    }
  };
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const poor = new Set();
  let seen = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const part = node.parentElement;
    if (!node.textContent.trim() || part.closest("svg")) continue;
    seen += 1;
    const [more, less] = [light(channels(getComputedStyle(part).color)), light(ground(part))].sort((a, b) => b - a);
    if ((more + 0.05) / (less + 0.05) < 4.5) poor.add(node.textContent);
  }
  return [seen, [...poor]];
}"""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_text_can_be_read(browser, written, scheme):
    with opened(browser, written(troubled()), color_scheme=scheme) as it:
        seen, poor = it.page.evaluate(CONTRASTS)
        assert seen > 100
        assert poor == []


def messages_column(shown) -> list[int]:
    cells = shown.locator("#source-rows tr:visible td:nth-child(8)").all_inner_texts()
    return [int(cell.replace(",", "")) for cell in cells]


def test_tables_are_sorted_by_their_heads(browser, written):
    with opened(browser, written(troubled())) as it:
        head = it.page.locator("#sources thead th").nth(7)
        head.get_by_role("button", name="Messages").click()
        assert head.get_attribute("aria-sort") == "descending"
        assert messages_column(it.page) == [1200, 30, 5]
        it.page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"
        assert messages_column(it.page) == [5, 30, 1200]
        it.page.locator("#sources thead th").first.get_by_role("button").click()
        assert it.page.locator("#sources th[aria-sort]").all_inner_texts() == ["Source"]
        paths = it.page.locator("#source-rows .path").all_inner_texts()
        assert [path.rpartition("/")[2] for path in paths] == ["cut.jsonl", "broken.jsonl", "good.jsonl"]
        it.page.locator("#sources thead th").last.get_by_role("button").click()
        assert all(one >= other for one, other in pairwise(messages_column(it.page)))


def test_rows_and_findings_are_filtered(browser, written):
    with opened(browser, written(troubled())) as it:
        field = it.page.get_by_label("Filter sources")
        field.fill("BROKEN json")
        assert messages_column(it.page) == [1200]
        assert it.page.locator("#sources output").inner_text() == "1 of 3 shown"
        field.fill("deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep")
        assert messages_column(it.page) == [5], "what a shortened path leaves out is found"
        field.fill("")
        assert len(messages_column(it.page)) == 3
        it.page.get_by_label("Filter findings").fill("warning")
        assert it.page.locator("#finding-groups > details:visible").count() == 1
        assert it.page.locator("#finding-2").is_visible()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_theme_is_switched_and_switched_back(browser, written, scheme):
    def ground():
        return it.page.evaluate("getComputedStyle(document.body).backgroundColor")

    with opened(browser, written(troubled()), color_scheme=scheme) as it:
        other = SCHEMES[1 - SCHEMES.index(scheme)]
        first = ground()
        it.page.get_by_role("button", name=f"Use the {other} theme").click()
        second = ground()
        it.page.get_by_role("button", name=f"Use the {scheme} theme").click()
        assert first != second
        assert ground() == first
        assert it.complaints == []


def test_a_bar_leads_to_its_finding(browser, written):
    with opened(browser, written(troubled())) as it:
        excerpt = it.page.locator("#finding-1 pre")
        assert not excerpt.is_visible()
        it.page.locator(".chart").get_by_role("link", name="bad-json").click()
        excerpt.wait_for(state="visible")
        assert excerpt.inner_text() == "{,\n}"


def test_on_paper_everything_is_open_and_controls_are_gone(browser, written):
    with opened(browser, written(troubled())) as it:
        closed = it.page.locator("details:not([open])")
        before = closed.count()
        it.page.emulate_media(media="print")
        it.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert before > 0
        assert closed.count() == 0
        assert it.page.locator("nav:visible, .filter:visible").count() == 0
        it.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert closed.count() == before


def test_every_column_of_the_sources_is_visible_on_a_small_laptop(browser, written):
    large = source("/home/ada/" + "a-rather-long-name-" * 8 + ".zip", 1_234_567, error=12_345, warning=123_456)
    large.update(read_as="github_copilot", conversations=123_456, documents=123_456)
    with opened(browser, written(report(large, source("b"))), viewport={"width": 1280, "height": 800}) as it:
        region = it.page.locator(".scroll[aria-label='Sources']")
        assert region.evaluate("region => region.scrollWidth - region.clientWidth") == 0
        edges = region.evaluate("region => region.getBoundingClientRect().right")
        assert region.locator("th", has_text="Size").evaluate("head => head.getBoundingClientRect().right") <= edges


def test_an_example_has_the_command_that_opens_its_conversation(browser, written):
    found = group("bad-json", examples=[example("a", conversation_id="it's; one"), example("a")])
    with opened(browser, written(report(source("a", error=2), findings=[found]))) as it:
        it.page.locator("#finding-1 > summary").click()
        commands = it.page.locator(".command")
        assert commands.all_text_contents() == ["""palaver show 'it'"'"'s; one'"""]
        commands.click()
        assert it.page.evaluate("getSelection().toString()") == commands.text_content()


HEADLINES = {
    "Valid": report(source("a")),
    "3 errors while reading": troubled(),
    "1 of 2 sources could not be read to the end": report(source("a"), source("b", failure="cut")),
    "1 path could not be checked": report(source("a"), refused=["b does not exist"], valid=False),
    "2 warnings at level strict": report(source("a", warning=2), level="strict", valid=False),
}


@pytest.mark.parametrize("line", HEADLINES)
def test_the_headline_names_the_first_reason(line):
    assert headline(HEADLINES[line]) == line


def test_the_headline_counts_documents_with_errors():
    made = report(source("a", 100, error=15), *(source(str(number)) for number in range(2)))
    made["totals"]["invalid_documents"] = 1
    assert headline(made) == "1 of 3 documents has an error"
    made["totals"]["invalid_documents"] = 2
    assert headline(made) == "2 of 3 documents have an error"


def test_without_scripts_all_is_there_and_nothing_pretends(browser, written):
    path = written(troubled())
    with opened(browser, path, java_script_enabled=False, viewport={"width": 360, "height": 800}) as it:
        assert it.page.locator("nav button, th button, input").locator("visible=true").count() == 0
        assert it.page.get_by_role("heading", name="3 errors while reading").is_visible()
        assert messages_column(it.page) == [5, 1200, 30]
        it.page.locator("#finding-1 > summary").click()
        assert it.page.locator("#finding-1 pre").is_visible()
        assert it.complaints == []
        assert it.requests == [path.as_uri()]
