import os

import pytest

from browsing import find_browser, launched


@pytest.fixture(scope="session")
def browser():
    executable = find_browser()
    if executable is None:
        reason = "no browser: run make browser, or name a Chromium or Chrome in PALAVER_BROWSER"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with launched(executable) as running:
        yield running
