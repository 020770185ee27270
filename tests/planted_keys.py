"""Invented keys of every kind that is masked in bodies."""

from typing import NamedTuple

MASK = "[masked]"


class PlantedKey(NamedTuple):
    text: str
    """How it appears in a text."""
    secret: str
    """The part of it that is masked."""


def _planted(secret: str, before: str = "") -> PlantedKey:
    return PlantedKey(before + secret, secret)


_LINES = "MIIEinventedKEY/planted+here0123456789abcdefghijklmnopqrstuvwxyz\nAAAABBBBCCCC/dddd+0=="
KEYS = {
    "anthropic": _planted("sk-ant-api03-Inv_ented-0123456789"),
    "openai": _planted("sk-proj-planted_here0"),
    "google": _planted("AIzaInvented_planted-here-0123456789abc"),
    "github": _planted("ghp_InventedPlantedHere0123456789abcdef"),
    "slack": _planted("xoxb-0123456789-inventedPLANTED"),
    "aws": _planted("AKIAINVENTEDPLANTED0"),
    "web_token": _planted("eyJhbGciOiJub25lIn0.eyJpbnZlbnRlZCI6dHJ1ZX0.planted_SIGNATURE-0"),
    "bearer": _planted("inv3nted.planted~token/0+1=", "Bearer "),
    "basic": _planted("aW52ZW50ZWQ6cGxhbnRlZA==", "basic "),
    "azure": _planted("0123456789abcdef0123456789ABCDEF"),
    "private_key": _planted(f"-----BEGIN RSA PRIVATE KEY-----\n{_LINES}\n-----END RSA PRIVATE KEY-----"),
    "locked_private_key": _planted(
        "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123ABCD\n\n"
        f"{_LINES}\n-----END PRIVATE KEY-----"
    ),
}
