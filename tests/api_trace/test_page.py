"""The page of claude-trace: its data is found and decoded piece by piece."""

import base64
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from palaver.importers.api_trace.html_page import PageData, is_page


def page(data: bytes, before: bytes = b"<html>") -> bytes:
    encoded = base64.b64encode(data)
    script = b"window.claudeData = JSON.parse(decodeURIComponent(escape(atob('" + encoded + b"'))));"
    return before + b"<script>" + script + b"</script><script>atob('AAAA')</script></html>"


def read(raw: bytes, size: int) -> bytes:
    stream = PageData(io.BytesIO(raw))
    return b"".join(iter(lambda: stream.read(size), b""))


@given(st.binary(max_size=5000), st.integers(1, 6000), st.integers(0, 200_000))
def test_what_was_put_in_comes_out(data, size, padding):
    assert read(page(data, b" " * padding), size) == data


def test_damage_in_the_data_is_passed_over():
    data = json.dumps({"rawPairs": ["ä" * 300]}).encode()
    raw = page(data)
    at = raw.index(b"atob('") + 100
    assert read(raw[:at] + b"\n \xff" + raw[at:], 512) == data
    assert read(raw[: at + 1], 512) == data[: len(read(raw[: at + 1], 512))] != b""


def test_older_pages_decode_without_a_detour():
    raw = page(b'{"rawPairs": []}').replace(b"decodeURIComponent(escape(atob(", b"atob(")
    assert is_page(raw)
    assert read(raw, 512) == b'{"rawPairs": []}'


def test_a_page_without_data_is_empty():
    assert read(b"<html>window.claudeData", 512) == b""
    assert not is_page(b"<html>window.claudeData</html>")
    assert is_page(page(b"{}"))
