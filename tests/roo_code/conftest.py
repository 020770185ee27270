import pytest

from task_folders import Tasks


@pytest.fixture
def tasks(tmp_path):
    """Task folders, written by a test and read as the command line reads them."""
    return Tasks(tmp_path / "globalStorage")
