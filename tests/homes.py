"""A home folder in which every platform has left conversations, made from the fixtures."""

import os
import shutil
import zipfile
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"
MODIFIED = 1_770_000_000
"""When every file was last modified: some times are inferred from that."""

_EDITOR = ".config/Code/User"
_COPIED = (
    ("claude_code/subagents_folder/source/projects", ".claude/projects"),
    ("claude_code/plain_session/source", ".claude/projects/-home-ada-garden"),
    ("claude_code/sessions_index/source/projects", ".claude/projects"),
    ("claude_code/resumed_pair/source", ".claude/projects/-home-ada-resumed"),
    ("claude_code/damage_bad_line_middle/source", ".claude/projects/-home-ada-damaged"),
    ("roo_code/native_condense/source", f"{_EDITOR}/globalStorage/rooveterinaryinc.roo-cline"),
    ("kilo_code/extension_storage/source/globalStorage", f"{_EDITOR}/globalStorage"),
    ("cline/text_results/source", f"{_EDITOR}/globalStorage/saoudrizwan.claude-dev"),
    ("cline/sdk_session/source", ".cline/data"),
    ("github_copilot/cli_session/source", ".copilot"),
    ("github_copilot/chat_states/source", f"{_EDITOR}/workspaceStorage/5f0a6c1e2d01"),
    ("continue_dev/ide_chat/source", "."),
    ("api_trace/claude_trace_session/source", ".claude-trace"),
    ("azure_openai/capture/source", "gateway-logs"),
    ("ucs/plain_lines/source", "converted"),
)
"""Folders of fixtures, and where a product keeps them below the home folder, as it does on Linux."""
_EXPORTS = (
    ("chatgpt/branches/source", "chatgpt export.zip"),
    ("claude_ai/tool_calls/source", "data-2026-09-01.zip"),
    ("deepseek/branches/source", "deepseek_data.zip"),
)
UNSCANNED = ("gateway-logs", "converted", *(f"Downloads/{name}" for _, name in _EXPORTS))
"""What no scan finds in the places that it looks in, since people save it where they like."""


def fill_home(home: Path) -> None:
    """Put conversations of every platform in a home folder, with exports in its downloads."""
    for folder, place in _COPIED:
        shutil.copytree(FIXTURES / folder, home / place, dirs_exist_ok=True)
    downloads = home / "Downloads"
    downloads.mkdir(exist_ok=True)
    for folder, name in _EXPORTS:
        write_zip(downloads / name, FIXTURES / folder)
    (downloads / "invoice.pdf").write_bytes(b"%PDF-1.7\n")
    (home / ".claude" / "projects" / "notes.txt").write_text("water the beans\n", "utf-8")
    for path in home.rglob("*"):
        os.utime(path, (MODIFIED, MODIFIED))


def write_zip(path: Path, folder: Path) -> None:
    """Write the files below a folder into a ZIP, the same bytes each time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.writestr(zipfile.ZipInfo(str(file.relative_to(folder))), file.read_bytes())
