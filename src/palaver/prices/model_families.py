"""One name for each model, whichever way a log spells it.

`claude-sonnet-4-5-20250929`, `claude-sonnet-4.5`, `anthropic/claude-sonnet-4.5`, `Claude Sonnet 4.5` and
`us.anthropic.claude-sonnet-4-5-20250929-v1:0` are one model: `claude-sonnet-4-5`. Only for showing: a price depends on
the provider and sometimes on the release, so answers are priced by their own names. What may be another model keeps its
own name: `-mini`, `-latest`, `-preview`, `:free`, four-digit releases such as `gpt-4-0613`, and the folder of somebody
who is not known as a provider.
"""

import re
from functools import cache

from palaver.prices.names import without_context_suffix

__all__ = ["model_family"]


@cache
def model_family(model: str) -> str:
    """Return the name under which a model is shown together with its other spellings."""
    name = "-".join((without_context_suffix(model) or model).lower().split())
    if name.startswith("arn:aws:"):
        name = name.rpartition("/")[2]
    head, slash, rest = name.partition("/")
    while slash and rest and head in _PROVIDERS:
        name = rest
        head, slash, rest = name.partition("/")
    if bedrock := _BEDROCK.fullmatch(name):
        name = bedrock["model"]
    name = _DATE.sub("", name) or name
    return _claude_family(name) if name.startswith("claude") else name


def _claude_family(name: str) -> str:
    name = name.replace(".", "-")
    if turned := _VERSION_FIRST.fullmatch(name):
        name = f"claude-{turned['family']}-{turned['version']}"
    # `claude-sonnet-4-0` is an alias of `claude-sonnet-4`.
    return _ZERO.sub(r"\1", name)


_PROVIDERS = frozenset(
    {
        *("ai21", "amazon", "anthropic", "azure", "azure_ai", "bedrock", "cohere", "copilot", "deepseek"),
        *("deepseek-ai", "fireworks_ai", "gemini", "github_copilot", "google", "groq", "meta-llama", "mistral"),
        *("mistralai", "models", "moonshotai", "openai", "openrouter", "perplexity", "qwen", "together_ai"),
        *("vertex_ai", "x-ai", "xai", "z-ai"),
    }
)
"""What a path before a model's name may begin with: providers and routers, in the spellings of logs."""
_BEDROCK = re.compile(
    r"(?:(?:us|us-gov|eu|apac|au|ca|jp|global)\.)?(?:anthropic|amazon|meta|mistral|deepseek|cohere|ai21|openai|qwen)\."
    r"(?P<model>[a-z].*?)(?:-v[0-9]+(?::[0-9]+k?)*|-[0-9]+:[0-9]+)?"
)
_DATE = re.compile(r"[-@](?:20[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9]|20[0-9]{2}-[01][0-9]-[0-3][0-9])$")
_VERSION_FIRST = re.compile(r"claude-(?P<version>(?:[4-9]|[1-9][0-9])(?:-[0-9]{1,2})?)-(?P<family>opus|sonnet|haiku)")
_ZERO = re.compile(r"(claude-(?:opus|sonnet|haiku)-[0-9]+)-0$")
