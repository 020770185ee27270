"""Cuts the conversations of a ChatGPT export out of their array, one by one, for the yardstick.

    python benchmarks/cut.py EXPORT.zip

Writes `EXPORT.zip.elements`: for each conversation a line with its length in bytes, then its bytes as the export has
them, then a line end. The standard library cuts: a fault of the importer's cannot hide in the yardstick.
"""

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from json import JSONDecoder
from pathlib import Path

PIECE = 1 << 22
MEMBER = re.compile(r"conversations(-\d+)?\.json")
BETWEEN = re.compile(r"[\s,]*")


def cut(export: Path) -> Path:
    elements = export.with_name(f"{export.name}.elements")
    if elements.exists() and elements.stat().st_mtime >= export.stat().st_mtime:
        return elements
    unfinished = elements.with_name(f"{elements.name}.part")
    with zipfile.ZipFile(export) as archive, unfinished.open("wb") as output:
        for name in archive.namelist():
            if MEMBER.fullmatch(name):
                for element in _elements(io.TextIOWrapper(archive.open(name), "utf-8", newline="")):
                    output.write(b"%d\n%b\n" % (len(element), element))
    return unfinished.replace(elements)


def _elements(member: io.TextIOWrapper) -> Iterator[bytes]:
    decode = JSONDecoder().raw_decode
    text = member.read(PIECE).lstrip()
    if not text.startswith("["):
        sys.exit("not an array of conversations")
    at = 1
    while True:
        start = BETWEEN.match(text, at).end()
        if text.startswith("]", start):
            return
        try:
            _, at = decode(text, start)
        except ValueError:
            piece = member.read(max(PIECE, len(text) - start))
            if not piece:
                raise
            text, at = text[start:] + piece, 0
        else:
            yield text[start:at].encode()


if __name__ == "__main__":
    print(cut(Path(sys.argv[1])))
