import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, so that a failure is the change's; untimed, since time tells of the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("importing")


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite every expected.jsonl under fixtures/; the diff is reviewed as code",
    )


@pytest.fixture
def update_golden(request):
    return request.config.getoption("--update-golden")


def pytest_terminal_summary(terminalreporter):
    """Show what tests recorded as `summary`: facts for the reader that are no failures."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", ()):
            if name == "summary" and getattr(report, "when", "") == "call":
                terminalreporter.write_line(value)
