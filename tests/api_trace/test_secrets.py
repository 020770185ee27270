"""Nothing that lets somebody in comes out: not in documents, not in findings, not in what is set aside."""

import base64
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api_trace.tracing import asked, imported, lines, message, pair
from importing import Case, cases, golden, import_folder, set_time
from palaver.importers.api_trace.masking import mask_bytes
from palaver.redact.policy import harmless_headers

SECRET = "hunter2hunter2"  # noqa: S105
CASES = [case for case in cases() if case.platform == "api_trace"]
TRAP_16 = [
    *("authorization", "x-api-key", "x-auth-token", "cookie", "set-cookie", "x-session-token", "x-access-token"),
    *("bearer", "proxy-authorization", "x-amz-security-token"),
]
_DATA = re.compile(rb"(?<=atob\(')[^']+")
_HEADERS = ("headers", "cookies", "queryString")


def planted(value, found):
    """The same log, with the secret in every header, cookie and address; `found` counts the places."""
    if isinstance(value, list):
        return [planted(one, found) for one in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for name, one in value.items():
        if name in _HEADERS and isinstance(one, dict):
            made[name] = {**{header: _planted_in(header, text, found) for header, text in one.items()}, **_more(found)}
        elif name in _HEADERS and isinstance(one, list):
            made[name] = [{**entry, "value": _planted_in(entry["name"], entry["value"], found)} for entry in one]
            made[name] += [{"name": header, "value": text} for header, text in _more(found).items()]
        elif name == "url" and isinstance(one, str):
            found.append(one)
            scheme, _, rest = one.partition("://")
            rest = rest.rpartition("@")[2]
            made[name] = f"{scheme}://me:{SECRET}@{rest}{'&' if '?' in rest else '?'}sig={SECRET}&{SECRET}#{SECRET}"
        else:
            made[name] = planted(one, found) if name not in {"body", "messages"} else one
    return made


def _planted_in(header, text, found):
    found.append(header)
    return f"Bearer {SECRET}" if harmless_headers({header: text}) else SECRET


def _more(found):
    found += TRAP_16
    return {**dict.fromkeys(TRAP_16, SECRET), "X-Whatever": SECRET, "User-Agent": f"Bearer {SECRET}"}


def planted_in_file(raw, found):
    if page := _DATA.search(raw):
        data = json.dumps(planted(json.loads(base64.b64decode(page[0])), found)).encode()
        return raw[: page.start()] + base64.b64encode(data) + raw[page.end() :]
    try:
        return json.dumps(planted(json.loads(raw), found)).encode()
    except ValueError:
        made = [_planted_in_line(line, found) for line in raw.split(b"\n")]
        return b"\n".join(made)


def _planted_in_line(line, found):
    try:
        return json.dumps(planted(json.loads(line), found)).encode()
    except ValueError:
        return line


def lay_out(case: Case, folder, change):
    root = case.lay_out(folder)
    for name, raw in case.files().items():
        (root / name).write_bytes(change(raw))
        set_time(root / name)
    return root


def said(made):
    """All that an import says or keeps."""
    return json.dumps(golden(made)) + "".join(one.raw.decode(errors="replace") for one in made.quarantined)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_secret_in_any_header_cookie_or_address_stays_where_it_was(case, tmp_path):
    found = []
    root = lay_out(case, tmp_path, lambda raw: planted_in_file(raw, found))
    made = import_folder(root, "api_trace")
    assert made.documents
    assert SECRET not in said(made)
    if not case.folder.name.startswith("trace_"):
        assert found


LAW = settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def test_a_secret_in_what_is_torn_apart_is_not_set_aside(tmp_path):
    record = pair(asked("A question that is to stay."), {"body": message("An answer that is to stay.")})
    record["request"]["headers"] = dict.fromkeys(TRAP_16, SECRET) | {"X-Whatever": SECRET}
    record["response"]["headers"] = {"set-cookie": f"a={SECRET}; b={SECRET}", "Date": "today"}
    record["request"]["url"] = f"https://me:{SECRET}@api.anthropic.com/v1/messages?key={SECRET}"
    line = lines(record)

    @LAW
    @given(st.integers(1, len(line) - 1), st.sampled_from([b"", b"\n", b"\0", b"}", b'"', b"{"]))
    def law(cut, between):
        files = {"log.jsonl": lines(pair(asked("First."))) + line[:cut] + between + line[cut:] + line[:cut] + b"\n"}
        assert SECRET not in said(imported(tmp_path, files))

    law()


SETTINGS = {
    "mcp_servers": [
        {"type": "url", "url": f"https://me:{SECRET}@b.example/?key={SECRET}", "authorization_token": SECRET}
    ],
    "data_sources": [{"type": "azure_search", "parameters": {"authentication": {"type": "api_key", "key": SECRET}}}],
    "tools": [
        {"name": "read", "input_schema": {"type": "object", "properties": {"api_key": {"type": "string"}}}},
        {"type": "mcp", "server_url": f"https://b.example/?key={SECRET}", "headers": {"X-Key": SECRET}},
        {"type": "mcp", "authorization": SECRET},
        {"googleMaps": {"authConfig": {"apiKey": SECRET}}},
    ],
}


@pytest.mark.parametrize("end", [None, '"response"', '"messages"'])
def test_credentials_of_other_services_are_not_kept_with_a_request(tmp_path, end):
    record = pair({**asked(), **SETTINGS}, {"body": message()})
    whole = lines(record).decode()
    made = imported(tmp_path, {"log.jsonl": whole.encode() + (whole[: whole.index(end)] if end else "").encode()})
    assert made.documents
    assert SECRET not in said(made)


def test_the_arguments_of_a_call_are_kept_as_they_were_written(tmp_path):
    call = {"type": "tool_use", "id": "t", "name": "fetch", "input": {"headers": {"Authorization": "Bearer of my own"}}}
    request = {**asked(), "messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [call]}]}
    assert "Bearer of my own" in said(imported(tmp_path, {"log.jsonl": lines(pair(request, {"body": message()}))}))


@pytest.mark.parametrize(
    "remains",
    [
        b'{"request": {"headers": {"authorization": "Bearer hunter2hunter2',
        b'unter2hunter2hunter2", "content-type": "text/plain"}, "body": {"messages": []}}',
        b'{"headers": {"X-Odd": "hunter2hunter2", "host": "a"}, "body": {"text": "stays", ',
        b'{"url": "https://me:hunter2hunter2@host/path?key=hunter2hunter2", "body": ',
        b'[{"name": "x-odd-thing", "value": "hunter2hunter2"}, ',
        b'"x-amz-security-token": "hunter2hunter2"}, "text": "stays"',
    ],
)
def test_pieces_of_json_lose_what_is_named_like_a_header(remains):
    kept = mask_bytes(remains)
    assert SECRET.encode() not in kept
    assert (b"stays" in kept) == (b"stays" in remains)


def test_what_was_said_is_set_aside_as_it_was():
    """A copy is masked, yet whoever lost a conversation finds their words in it."""
    record = {
        "headers": {"Authorization": SECRET},
        "body": {"messages": [{"content": "the url is https://a:b@c/?d=e"}]},
    }
    kept = json.loads(mask_bytes(json.dumps(record).encode()))
    assert kept["body"] == record["body"]
    assert kept["headers"] == {"Authorization": "[masked]"}


def test_an_error_that_names_an_address_is_told_without_its_secrets(tmp_path):
    record = {"request": asked(), "response": None, "error": f"no route to https://me:{SECRET}@host/v1?key={SECRET}"}
    made = imported(tmp_path, {"trace.jsonl": lines(record)})
    assert "no route to https://host/v1" in said(made)
    assert SECRET not in said(made)


def test_headers_in_the_place_of_a_body_are_no_body(tmp_path):
    record = pair({"User-Agent": "x", "X-Odd": SECRET}, {"body": message()})
    record["request"]["headers"] = asked("A question that came among the headers.")
    made = imported(tmp_path, {"log.jsonl": lines(pair(), record)})
    assert SECRET not in said(made)
    assert "A question that came among the headers." in said(made)
