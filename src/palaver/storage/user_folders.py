"""The user's folders for data and settings, found without the library that knows them on every system.

`palaver statusline` runs at every prompt: on Linux and macOS it can do without importing `platformdirs`, which agrees.
"""

import os
import sys

_NAME = "palaver"
_RECORDINGS = "recordings"


def data_folder() -> str:
    """Return the archive's folder: $PALAVER_HOME, or the system's folder for user data."""
    if configured := os.environ.get("PALAVER_HOME"):
        return os.path.expanduser(configured)
    if sys.platform == "win32":
        from platformdirs import user_data_dir

        return user_data_dir(_NAME, appauthor=False)
    if sys.platform == "darwin":
        return os.path.expanduser(f"~/Library/Application Support/{_NAME}")
    return _xdg_folder("XDG_DATA_HOME", "~/.local/share")


def recordings_folder() -> str:
    """Return the folder for logs of API traffic: `recordings` in the folder for data."""
    return os.path.join(data_folder(), _RECORDINGS)


def settings_file() -> str:
    """Return the path of `config.toml`."""
    if configured := os.environ.get("PALAVER_CONFIG"):
        return os.path.expanduser(configured)
    if home := os.environ.get("PALAVER_HOME"):
        return os.path.join(os.path.expanduser(home), "config.toml")
    if sys.platform == "win32":
        from platformdirs import user_config_dir

        return os.path.join(user_config_dir(_NAME, appauthor=False), "config.toml")
    if sys.platform == "darwin":
        return os.path.expanduser(f"~/Library/Application Support/{_NAME}/config.toml")
    return os.path.join(_xdg_folder("XDG_CONFIG_HOME", "~/.config"), "config.toml")


def _xdg_folder(variable: str, default: str) -> str:
    configured = os.environ.get(variable, "").strip()
    return os.path.join(configured or os.path.expanduser(default), _NAME)
