"""Names of models in logs: the same model has another name at each provider that sells it.

`claude-sonnet-4-5-20250929` is Anthropic's, `us.anthropic.claude-sonnet-4-5-20250929-v1:0` Bedrock's,
`claude-sonnet-4-5@20250929` Vertex AI's, `anthropic/claude-sonnet-4.5` OpenRouter's, and Claude Code writes
`claude-sonnet-4-5[1m]` if the long context was on. The provider decides the price, and how tokens are counted.
"""

import re
from typing import NamedTuple

__all__ = ["NameCandidate", "TokenCounting", "name_candidates", "token_counting", "without_context_suffix"]


class NameCandidate(NamedTuple):
    """A model's name and the provider that uses it; None if only the name can decide."""

    provider: str | None
    name: str


class TokenCounting(NamedTuple):
    """How a provider counts tokens; see `rows`."""

    input_excludes_cache: bool
    output_excludes_thinking: bool


def without_context_suffix(model: str) -> str:
    """Return a model's name without a suffix such as `[1m]`, which the logging program adds."""
    return _CONTEXT_SUFFIX.sub("", model.strip())


def name_candidates(model: str, hint: str | None) -> list[NameCandidate]:
    """Return the possible providers of a name, likeliest first; `hint` is a UCS platform or a provider in the table."""
    name = without_context_suffix(model).lower().replace(" ", "-")
    if name.startswith("arn:aws:"):
        return [NameCandidate("aws", name.rpartition("/")[2])]
    head, slash, rest = name.partition("/")
    if slash and head in _ROUTES:
        return [NameCandidate(_ROUTES[head], rest)]
    if _BEDROCK.match(name):
        return [NameCandidate("aws", name)]
    if name.startswith("claude") and "@" in name:
        return [NameCandidate("google", name)]
    hinted = [] if hint is None else [NameCandidate(_PLATFORMS.get(hint, hint), name)]
    if slash:
        return [*hinted, NameCandidate("openrouter", name), NameCandidate(head, rest), NameCandidate(None, name)]
    # Not every name of an OpenAI model shows its provider: codex-mini-latest, chatgpt-4o-latest.
    return [*hinted, NameCandidate(None, name), NameCandidate("openai", name)]


def token_counting(provider: str | None, model: str, hint: str | None) -> TokenCounting:
    """Return how a provider counts: hosts of Claude pass on Anthropic's numbers, routers convert them to OpenAI's."""
    if hint in _ANTHROPIC_API:
        return TokenCounting(input_excludes_cache=True, output_excludes_thinking=False)
    name = model.lower()
    if provider is None:
        provider = next((vendor for word, vendor in _VENDORS.items() if word in name), None)
    is_claude = "claude" in name
    return TokenCounting(
        input_excludes_cache=provider == "aws" or (is_claude and provider in {"anthropic", "google", "azure"}),
        output_excludes_thinking=provider == "x-ai" or (provider == "google" and not is_claude),
    )


_CONTEXT_SUFFIX = re.compile(r"\[[0-9]+[km]\]$", re.IGNORECASE)
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
# These programs use only Anthropic's API, whatever model is behind it.
_ANTHROPIC_API = frozenset({"claude_code", "claude_trace"})
_VENDORS = {"claude": "anthropic", "gemini": "google", "grok": "x-ai"}
