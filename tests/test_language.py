"""The English of what palaver prints: messages, help texts, findings, losses and reports avoid a list of idioms."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from importing import CHECKOUT

SOURCES = CHECKOUT / "src" / "palaver"
PUBLISHED = SOURCES / "model"
"""Descriptions in released schemas, which never change."""

IDIOMS = {
    "'not a' instead of 'is no'": r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer\b|more\b)",
    "'quarantined' instead of 'set aside'": r"\bset aside\b",
    "'again' instead of 'anew'": r"\banew\b",
    "'tool calls' instead of 'calls of tools'": r"\bcalls? of (?:an? )?tools?\b",
    "'say' or 'report' instead of 'tell'": r"\b(?:tell|tells|told)\b",
    "'is' or 'appears' instead of 'stands'": r"\b(?:stands?|stood)\b",
    "'no one', or the passive, instead of 'nobody'": r"\b(?:nobody|whoever)\b",
    "a sentence of its own instead of 'of which'": r"\bof which\b",
    "'this' or 'these' instead of 'such'": r"(?<!no )\bsuch\b(?! as\b)",
    "'text' instead of 'words'": r"\b(?:no|own|in|of|their|your) words\b",
    "'correct' or 'fix' instead of 'mend'": r"\bmend(?:s|ed)?\b",
    "'a bug in' instead of 'a bug of'": r"\bbug of\b",
    "'does not match any' instead of 'is none of'": r"\bis none\b",
    "'unchanged' instead of 'as it was'": r"\bas (?:it was|they were)\b(?! before\b)",
}


def is_printed_docstring(path: Path, owner: ast.AST) -> bool:
    """Help texts of commands, and the descriptions of importers, are docstrings."""
    if path.parent == SOURCES / "cli":
        return (
            isinstance(owner, ast.FunctionDef) and not owner.name.startswith("_") and "Exit codes: " in docstring(owner)
        )
    return isinstance(owner, ast.Module) and path.parent.parent == SOURCES / "importers" and path.name == "__init__.py"


def docstring(owner: ast.AST) -> str:
    is_documented = isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return ast.get_docstring(owner, clean=False) or "" if is_documented else ""


def printed_texts(path: Path, source: str) -> Iterator[tuple[int, str]]:
    """Line and value of each string constant but comments; the parts of an f-string are joined."""
    tree = ast.parse(source)
    comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if is_printed_docstring(path, node):
            yield 1, docstring(node)
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in comments | parts:
            yield node.lineno, node.value


def idioms(path: Path, source: str) -> list[str]:
    return [
        f"{path}:{line}: {advice}: {text}"
        for line, text in printed_texts(path, source)
        if " " in text.strip()
        for advice, pattern in IDIOMS.items()
        if re.search(pattern, text, re.IGNORECASE)
    ]


ALLOWED = {
    "what grows with the archive is written anew less often": "the name of a migration, stored in archives",
}
UNREVISED = {
    "archive/conversation_list.py",
    "cli/_terminal/statistics.py",
    "cli/_terminal/summary.py",
    "cli/identify.py",
    "cli/import_.py",
    "cli/show.py",
    "cli/stats.py",
    "exporters/_blocks.py",
}
"""Modules with texts that this test does not check yet."""

MODULES = sorted(
    path
    for path in SOURCES.rglob("*.py")
    if PUBLISHED not in path.parents and path.relative_to(SOURCES).as_posix() not in UNREVISED
)


def test_no_text_of_the_program_has_an_idiom_of_the_list():
    found = [
        line
        for path in MODULES
        for line in idioms(path, path.read_text("utf-8"))
        if not any(line.endswith(f": {text}") for text in ALLOWED)
    ]
    assert "\n".join(found) == ""


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_allowed_is_still_there(text):
    assert any(text in path.read_text("utf-8") for path in MODULES)


@pytest.mark.parametrize(
    "sentence",
    [
        "the log is no file",
        "Nothing is set aside.",
        "the file is written anew",
        "2,337 calls of tools",
        "the report tells why",
        "one of those that stand there",
        "nobody can be asked",
        "5 files, none of which is read",
        "there is nothing such here",
        "a reason in your words",
        "mend the file",
        "this is a bug of palaver",
        "it is none of these",
        "kept as it was",
    ],
)
def test_a_planted_sentence_is_found(sentence):
    message = f'output.notify(f"{{count}} {sentence}")'
    assert idioms(SOURCES / "cli" / "planted.py", message)
    helped = f'def planted() -> None:\n    """Plant it.\n\n    {sentence}\n\n    Exit codes: 0 done.\n    """\n'
    assert idioms(SOURCES / "cli" / "planted.py", helped)


@pytest.mark.parametrize(
    "sentence",
    ["it is no longer there", "there is no room", "formats such as JSON", "outstanding", "told", "the wordless one"],
)
def test_plain_sentences_pass(sentence):
    assert idioms(SOURCES / "cli" / "planted.py", f"output.notify({sentence!r})") == []


def test_comments_and_docstrings_of_other_functions_are_not_printed():
    source = 'def helper() -> None:\n    """Return what nobody has."""\n\n\nLIMIT = 3\n"""What stands here."""\n'
    assert idioms(SOURCES / "archive" / "planted.py", source) == []
