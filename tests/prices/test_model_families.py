"""Spellings of one model have one name; different models keep theirs."""

import pytest

from palaver.prices.model_families import model_family

SPELLINGS = {
    "claude-sonnet-4-5": [
        "claude-sonnet-4-5",
        "claude-sonnet-4.5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4.5-20250929",
        "claude-sonnet-4-5@20250929",
        "claude-sonnet-4-5[1m]",
        "Claude Sonnet 4.5",
        "claude-4.5-sonnet",
        "anthropic/claude-sonnet-4.5",
        "openrouter/anthropic/claude-sonnet-4.5",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
    "claude-sonnet-4": ["claude-sonnet-4-20250514", "claude-sonnet-4-0", "claude-sonnet-4", "claude-4-sonnet"],
    "claude-3-5-sonnet": [
        "claude-3-5-sonnet-20241022",
        "claude-3.5-sonnet",
        "anthropic.claude-3-5-sonnet-20241022-v2:0",
    ],
    "gpt-4o": ["gpt-4o", "gpt-4o-2024-08-06", "openai/gpt-4o", "GPT-4o", "azure/gpt-4o-2024-11-20"],
    "gemini-2.5-pro": ["gemini-2.5-pro", "models/gemini-2.5-pro", "google/gemini-2.5-pro", "vertex_ai/gemini-2.5-pro"],
}


@pytest.mark.parametrize(("family", "spelling"), [(name, way) for name, ways in SPELLINGS.items() for way in ways])
def test_a_spelling_is_folded(family, spelling):
    assert model_family(spelling) == family
    assert model_family(model_family(spelling)) == family


def test_different_models_keep_their_names():
    models = [
        *(
            "gpt-4o",
            "gpt-4o-mini",
            "gpt-4",
            "gpt-4-0613",
            "gpt-4-1106-preview",
            "gpt-4.1",
            "gpt-4-1",
            "chatgpt-4o-latest",
        ),
        *("claude-sonnet-4", "claude-sonnet-4-5", "claude-opus-4-1", "claude-opus-4-10", "claude-3-5-sonnet-latest"),
        *("claude-3-5-sonnet", "claude-3-sonnet", "claude-2.1", "claude-2", "gemini-2.5-pro", "gemini-2.5-flash"),
        *("gemini-2.5-flash-preview-05-20", "gemini-1.5-pro-001", "gemini-1.5-pro-002", "deepseek-r1:free"),
        *("deepseek-r1", "somebody/deepseek-r1", "ft:gpt-4o-2024-08-06:acme::abc", "<synthetic>", "o3", "o3-mini"),
    ]
    assert len({model_family(model) for model in models}) == len(models)


@pytest.mark.parametrize("odd", ["/", "openai/", "a/b/c", "-2024-08-06", "anthropic.", "[1m]", "arn:aws:bedrock"])
def test_an_odd_name_is_not_lost(odd):
    assert model_family(odd)
