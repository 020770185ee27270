"""Names of models as they stand in logs: the right row, or none; never that of another family."""

import pytest

from palaver.prices import Prices

TIME = "2025-10-01T12:00:00.000Z"

PRICED = {
    "claude-sonnet-4-5-20250929": ("anthropic", "claude-sonnet-4-5"),
    "claude-sonnet-4-5": ("anthropic", "claude-sonnet-4-5"),
    "claude-sonnet-4-5[1m]": ("anthropic", "claude-sonnet-4-5"),
    "claude-sonnet-4.5": ("anthropic", "claude-sonnet-4-5"),
    "Claude Sonnet 4.5": ("anthropic", "claude-sonnet-4-5"),
    "claude-sonnet-4-20250514": ("anthropic", "claude-sonnet-4-0"),
    "claude-sonnet-4": ("anthropic", "claude-sonnet-4-0"),
    "claude-opus-4-1": ("anthropic", "claude-opus-4-1"),
    "claude-opus-4-1-20250805": ("anthropic", "claude-opus-4-1"),
    "claude-opus-4-20250514": ("anthropic", "claude-opus-4-0"),
    "claude-opus-4-5-20251101": ("anthropic", "claude-opus-4-5"),
    "claude-opus-4-6": ("anthropic", "claude-opus-4-6"),
    "claude-haiku-4-5-20251001": ("anthropic", "claude-haiku-4-5"),
    "claude-3-7-sonnet-20250219:thinking": ("anthropic", "claude-3-7-sonnet-latest"),
    "claude-3-5-sonnet-latest": ("anthropic", "claude-3-5-sonnet"),
    "claude-3-5-haiku-20241022": ("anthropic", "claude-3-5-haiku-latest"),
    "claude-3-opus-20240229": ("anthropic", "claude-3-opus-latest"),
    "anthropic/claude-sonnet-4-5-20250929": ("anthropic", "claude-sonnet-4-5"),
    "anthropic/claude-sonnet-4.5": ("openrouter", "anthropic/claude-sonnet-4.5"),
    "anthropic.claude-sonnet-4-5-20250929-v1:0": ("aws", "regional.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": ("aws", "regional.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "global.anthropic.claude-sonnet-4-5-20250929-v1:0": ("aws", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "eu.anthropic.claude-3-5-sonnet-20241022-v2:0": ("aws", "regional.anthropic.claude-3-5-sonnet-20241022-v2:0"),
    "bedrock/us.anthropic.claude-opus-4-1-20250805-v1:0": ("aws", "regional.anthropic.claude-opus-4-1-20250805-v1:0"),
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-20250514-v1:0": (
        "aws",
        "regional.anthropic.claude-opus-4-20250514-v1:0",
    ),
    "us.anthropic.claude-fable-5-v1:0": ("aws", "regional.anthropic.claude-fable-5-v1:0"),
    "claude-sonnet-4-5@20250929": ("google", "claude-sonnet-4-5"),
    "claude-3-5-sonnet-v2@20241022": ("google", "claude-3-5-sonnet"),
    "vertex_ai/claude-sonnet-4-5@20250929": ("google", "claude-sonnet-4-5"),
    "gpt-4": ("openai", "gpt-4"),
    "gpt-4-0613": ("openai", "gpt-4"),
    "gpt-4-turbo": ("openai", "gpt-4-turbo"),
    "gpt-4o": ("openai", "gpt-4o"),
    "gpt-4o-2024-08-06": ("openai", "gpt-4o"),
    "gpt-4o-2024-05-13": ("openai", "gpt-4o-2024-05-13"),
    "gpt-4o-mini": ("openai", "gpt-4o-mini"),
    "GPT-4.1": ("openai", "gpt-4.1"),
    "gpt-35-turbo": ("openai", "gpt-3.5-turbo"),
    "gpt-5": ("openai", "gpt-5"),
    "gpt-5-mini": ("openai", "gpt-5-mini"),
    "gpt-5-1": ("openai", "gpt-5.1"),
    "gpt-5.2-20251211": ("openai", "gpt-5.2"),
    "o1": ("openai", "o1"),
    "o3": ("openai", "o3"),
    "o3-mini": ("openai", "o3-mini"),
    "o4-mini-2025-04-16": ("openai", "o4-mini"),
    "chatgpt-4o-latest": ("openai", "chatgpt-4o-latest"),
    "codex-mini-latest": ("openai", "codex-mini"),
    "ft:gpt-4o-2024-08-06:acme::abc123": ("openai", "ft:gpt-4o"),
    "azure/gpt-4o": ("azure", "gpt-4o"),
    "deepseek-chat": ("deepseek", "deepseek-chat"),
    "deepseek-reasoner": ("deepseek", "deepseek-reasoner"),
    "gemini-2.5-pro": ("google", "gemini-2.5-pro"),
    "gemini-2.5-pro-preview-05-06": ("google", "gemini-2.5-pro"),
    "models/gemini-2.5-pro": ("google", "gemini-2.5-pro"),
    "gemini-2.5-flash": ("google", "gemini-2.5-flash"),
    "gemini-2.5-flash-lite": ("google", "gemini-2.5-flash-lite"),
    "gemini-2.0-flash-001": ("google", "gemini-2.0-flash"),
    "gemini-2.5-pro-preview-tts": ("google", "gemini-2.5-pro-tts"),
}

UNPRICED = [
    "<synthetic>",
    "auto",
    "others",
    "sonnet",
    "claude",
    "claude-sonnet",
    "claude-opus-4-10",
    "claude-sonnet-4-55",
    "claude-sonnet-4-5-mini",
    "claude-sonnet-4-5-20250929x",
    "not-claude-3-5-haiku@20241022",
    "us.anthropic.claude-sonnet-9-9-20300101-v1:0",
    "gpt",
    "gpt-4-code-interpreter",
    "gpt-5-t-mini",
    "gpt-oss:20b",
    "text-davinci-002-render-sha",
    "text-davinci-002-render-sha-mobile",
    "copilot-codex",
    "deepseek-r1:7b",
    "deepseek-r1-distill-qwen-7b",
    "ollama.com/library/deepseek-r1:7b",
    "ollama/llama3.1:8b",
    "qwen2.5-coder:1.5b-base",
    "gemini",
    "gemini-1.5-flash-32b",
    "/",
    "models/",
    "claude-opus-4-1" + "-2025-01-01" * 60 + "x",
]


@pytest.fixture(scope="module")
def prices():
    return Prices()


@pytest.mark.parametrize("name", PRICED)
def test_a_known_name_finds_its_row(prices, name):
    row = prices.row(name, TIME)
    assert row is not None
    assert (row.provider, row.model) == PRICED[name]
    assert row.source == "genai-prices"


@pytest.mark.parametrize("name", UNPRICED)
def test_any_other_name_finds_none(prices, name):
    assert prices.row(name, TIME) is None


def test_a_platform_says_whose_model_a_bare_name_means(prices):
    assert prices.row("gpt-4o", TIME, "azure_openai").provider == "azure"
    assert prices.row("claude-sonnet-4-5-20250929", TIME, "aws").provider == "aws"
    assert prices.row("openai/gpt-oss-120b", TIME, "groq").provider == "groq"


@pytest.mark.parametrize("hint", ["claude_code", "chatgpt", "roo_code", "unheard_of"])
def test_other_platforms_leave_it_to_the_name(prices, hint):
    assert prices.row("gpt-4o", TIME, hint).provider == "openai"
    assert prices.row("claude-opus-4-1", TIME, hint).provider == "anthropic"
