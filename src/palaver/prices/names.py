"""How models are called in logs: one model has a name per place that sells it.

`claude-sonnet-4-5-20250929` is Anthropic's, `us.anthropic.claude-sonnet-4-5-20250929-v1:0` Bedrock's,
`claude-sonnet-4-5@20250929` Vertex AI's, `anthropic/claude-sonnet-4.5` OpenRouter's, and Claude Code writes
`claude-sonnet-4-5[1m]` where the long context was on. Where it was bought decides the price, and how it was counted.
"""

import re
from typing import NamedTuple

__all__ = ["Counting", "Reading", "cleaned", "counting", "readings"]


class Reading(NamedTuple):
    """A model's name, and the provider that calls it so; None when only the name can tell."""

    provider: str | None
    name: str


class Counting(NamedTuple):
    cache_apart: bool
    thinking_apart: bool


def cleaned(model: str) -> str:
    """The name without the marks of the program that logged it."""
    return _CONTEXT.sub("", model.strip())


def readings(model: str, hint: str | None) -> list[Reading]:
    """Whose name it may be, the likeliest first. `hint` is a UCS platform or a provider of the price table."""
    name = cleaned(model).lower().replace(" ", "-")
    if name.startswith("arn:aws:"):
        return [Reading("aws", name.rpartition("/")[2])]
    head, slash, rest = name.partition("/")
    if slash and head in _ROUTES:
        return [Reading(_ROUTES[head], rest)]
    if _BEDROCK.match(name):
        return [Reading("aws", name)]
    if name.startswith("claude") and "@" in name:
        return [Reading("google", name)]
    hinted = [] if hint is None else [Reading(_PLATFORMS.get(hint, hint), name)]
    if slash:
        return [*hinted, Reading("openrouter", name), Reading(head, rest), Reading(None, name)]
    # Some of OpenAI's models have no name that gives them away: codex-mini-latest, chatgpt-4o-latest.
    return [*hinted, Reading(None, name), Reading("openai", name)]


def counting(provider: str | None, model: str, hint: str | None) -> Counting:
    """In which manner a provider counts: hosts of Claude hand on Anthropic's numbers, routers make them OpenAI's."""
    if hint in _ANTHROPIC_API:
        return Counting(cache_apart=True, thinking_apart=False)
    name = model.lower()
    if provider is None:
        provider = next((vendor for word, vendor in _VENDORS.items() if word in name), None)
    claude = "claude" in name
    return Counting(
        cache_apart=provider == "aws" or (claude and provider in {"anthropic", "google", "azure"}),
        thinking_apart=provider == "x-ai" or (provider == "google" and not claude),
    )


_CONTEXT = re.compile(r"\[[0-9]+[km]\]$", re.IGNORECASE)
_BEDROCK = re.compile(r"(?:[a-z-]+\.)?(?:anthropic|amazon|meta|mistral|deepseek|cohere|ai21)\.[a-z]")
_ROUTES = {
    "azure_ai": "azure",
    "bedrock": "aws",
    "gemini": "google",
    "models": "google",
    "openrouter": "openrouter",
    "vertex_ai": "google",
    "xai": "x-ai",
}
_PLATFORMS = {"azure_openai": "azure"}
# These only ever speak Anthropic's API, whoever's model is behind it.
_ANTHROPIC_API = frozenset({"claude_code", "claude_trace"})
_VENDORS = {"claude": "anthropic", "gemini": "google", "grok": "x-ai"}
