"""The upstreams that words and variables name, and the variables that send clients to the recorder."""

from typing import Any

import pytest

from palaver.errors import OptionError
from palaver.recorder.upstreams import Upstream, choose_upstreams, variables_for

RECORDER = "http://127.0.0.1:8788"
ANTHROPIC = "https://api.anthropic.com"
OPENAI = "https://api.openai.com"
GEMINI = "https://generativelanguage.googleapis.com"


def chosen(words: list[str], **environment: str) -> list[tuple[str, str, str]]:
    return [(each.name, each.url, each.prefix) for each in choose_upstreams(words, environment)]


def variables(words: list[str], *, token: str = "", **environment: str) -> dict[str, str]:
    found = variables_for(choose_upstreams(words, environment), RECORDER, token)
    return {name: value.removeprefix(RECORDER) for name, value in found.items()}


def test_without_words_every_preset_with_an_address_is_an_upstream() -> None:
    known = [("anthropic", ANTHROPIC, "/anthropic"), ("openai", OPENAI, "/openai"), ("gemini", GEMINI, "/gemini")]
    assert chosen([]) == known
    assert chosen([], AZURE_OPENAI_ENDPOINT="") == known
    azure = ("azure-openai", "https://x.openai.azure.com", "/azure-openai")
    assert chosen([], AZURE_OPENAI_ENDPOINT="https://x.openai.azure.com/") == [*known[:2], azure, known[2]]
    assert variables([]) == {
        "ANTHROPIC_BASE_URL": "/anthropic",
        "OPENAI_BASE_URL": "/openai/v1",
        "OPENAI_API_BASE": "/openai/v1",
        "GOOGLE_GEMINI_BASE_URL": "/gemini",
    }


@pytest.mark.parametrize(
    ("words", "upstreams", "expected"),
    [
        (["anthropic"], [("anthropic", ANTHROPIC, "")], {"ANTHROPIC_BASE_URL": ""}),
        (["openai"], [("openai", OPENAI, "")], {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"}),
        (["gemini"], [("gemini", GEMINI, "")], {"GOOGLE_GEMINI_BASE_URL": ""}),
        (
            ["anthropic", "openai=https://gateway.example/v1/"],
            [("anthropic", ANTHROPIC, "/anthropic"), ("openai", "https://gateway.example/v1", "/openai")],
            {"ANTHROPIC_BASE_URL": "/anthropic", "OPENAI_BASE_URL": "/openai", "OPENAI_API_BASE": "/openai"},
        ),
        (
            ["http://localhost:11434/v1"],
            [("localhost", "http://localhost:11434/v1", "")],
            {"OPENAI_BASE_URL": "", "OPENAI_API_BASE": ""},
        ),
        (["https://api.anthropic.com/"], [("anthropic", ANTHROPIC, "")], {"ANTHROPIC_BASE_URL": ""}),
        (
            ["https://team.openai.azure.com"],
            [("azure-openai", "https://team.openai.azure.com", "")],
            {"AZURE_OPENAI_ENDPOINT": ""},
        ),
        (
            ["local=http://localhost:11434/v1"],
            [("local", "http://localhost:11434/v1", "")],
            {"OPENAI_BASE_URL": "", "OPENAI_API_BASE": ""},
        ),
        (
            ["local=http://[::1]:11434/v1", "anthropic"],
            [("local", "http://[::1]:11434/v1", "/local"), ("anthropic", ANTHROPIC, "/anthropic")],
            {"ANTHROPIC_BASE_URL": "/anthropic"},
        ),
    ],
)
def test_words_name_upstreams(words: list[str], upstreams: list[Any], expected: dict[str, str]) -> None:
    assert chosen(words) == upstreams
    assert variables(words) == expected


def test_a_variable_that_is_set_is_the_upstream() -> None:
    gateway = "https://gateway.example/anthropic/proxy"
    assert chosen(["anthropic"], ANTHROPIC_BASE_URL=f" {gateway}/ ") == [("anthropic", gateway, "")]
    assert variables(["anthropic"], ANTHROPIC_BASE_URL=gateway) == {"ANTHROPIC_BASE_URL": ""}
    assert chosen(["openai"], OPENAI_API_BASE="http://a/v1") == [("openai", "http://a/v1", "")]
    both = chosen(["openai"], OPENAI_BASE_URL="http://b/v1", OPENAI_API_BASE="http://a/v1")
    assert both == [("openai", "http://b/v1", "")]
    assert variables(["openai"], OPENAI_BASE_URL="http://b/v1") == {"OPENAI_BASE_URL": "", "OPENAI_API_BASE": ""}
    assert chosen(["openai=https://c.example"], OPENAI_BASE_URL="http://b/v1") == [("openai", "https://c.example", "")]


@pytest.mark.parametrize(
    ("uses_openai", "has_variables"),
    [
        ({}, False),
        ({"OPENAI_API_KEY": " "}, False),
        ({"OPENAI_API_KEY": "sk-invented-1"}, True),
        ({"OPENAI_BASE_URL": "http://a/v1"}, True),
    ],
)
def test_a_key_for_azure_does_not_go_to_openai(uses_openai: dict[str, str], has_variables: bool) -> None:
    """Azure's client for JavaScript prefers `OPENAI_BASE_URL` to its own endpoint."""
    environment = {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", **uses_openai}
    assert "openai" in [name for name, _, _ in chosen([], **environment)]
    assert variables([], **environment)["AZURE_OPENAI_ENDPOINT"] == "/azure-openai"
    assert ("OPENAI_BASE_URL" in variables([], **environment)) is has_variables
    assert "OPENAI_BASE_URL" in variables(["openai", "azure-openai"], **environment)


def test_the_token_comes_first_in_the_path() -> None:
    assert variables(["openai", "anthropic"], token="t") == {  # noqa: S106 - an invented one
        "OPENAI_BASE_URL": "/t/openai/v1",
        "OPENAI_API_BASE": "/t/openai/v1",
        "ANTHROPIC_BASE_URL": "/t/anthropic",
    }
    upstream = Upstream("x", "https://x.example", "", {"X": "/v1"})
    assert variables_for([upstream], f"{RECORDER}/", "t") == {"X": f"{RECORDER}/t/v1"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["azure-openai"], "--upstream azure-openai has no address: set AZURE_OPENAI_ENDPOINT, or write"),
        (["antropic"], "--upstream antropic is not known: did you mean anthropic"),
        (["nothing"], "--upstream nothing is not known: choose anthropic, openai, azure-openai, gemini, a URL"),
        (["anthropic", "anthropic"], "--upstream anthropic is given twice"),
        (["openai", "openai=https://a.example"], "--upstream openai is given twice"),
        (
            ["https://a.example", "openai"],
            "--upstream https://a.example: with several upstreams, each URL needs a name",
        ),
        (["=https://a.example"], "the name is part of a URL"),
        (["1a=https://a.example"], "the name is part of a URL"),
        (["a=ftp://a.example"], "starts with https:// or http://"),
        (["a=a.example"], "starts with https:// or http://"),
        (["https://"], "is not a URL with a host"),
        (["https://a.example:port"], "is not a URL"),
        (["https://[::1"], "is not a URL"),
        (["https://a.example/b c"], "is not a URL with a host"),
        (["https://a.example/?key=x"], "has a query or a fragment"),
        (["https://a.example#x"], "has a query or a fragment"),
        (["https://a.example?"], "has a query or a fragment"),
    ],
)
def test_other_words_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        choose_upstreams(words, {})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://someone:s3cret@a.example:port",
        "https://someone:s3cret@a.example/?x",
        "https://someone:s3cret@a.example/b c",
        "https://a.example/?key=s3cret",
        "ftp://someone:s3cret@a.example",
        "someone:s3cret@a.example",
        "https://someone:s3cret@[a.example",
        "https://a.example/v1#s3cret",
    ],
)
def test_no_message_has_what_a_url_hides(url: str) -> None:
    for words, environment in (
        ([url], {}),
        ([f"a={url}"], {}),
        ([f"1={url}"], {}),
        ([url, "openai"], {}),
        (["anthropic"], {"ANTHROPIC_BASE_URL": url}),
        ([], {"AZURE_OPENAI_ENDPOINT": url}),
    ):
        with pytest.raises(OptionError) as refused:
            choose_upstreams(words, environment)
        assert "s3cret" not in str(refused.value), words
