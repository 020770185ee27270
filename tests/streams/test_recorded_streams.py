"""Every recorded stream of the samples is assembled to what the provider's own SDK makes of it."""

import json

import pytest

from cassettes import needs_samples
from palaver.streams import assemble, recognize
from palaver.streams.event_parsers import events_of
from stream_oracles import IS_CUT, data_of, every_stream, response_state, sdk_results, without_filter_results
from streaming import kinds, sse, without_unsaid

STREAMS = every_stream()
WHOLE = [stream for stream in STREAMS if stream.name not in IS_CUT]


@needs_samples
def test_all_recorded_streams_are_found():
    assert len(STREAMS) == 104
    assert {stream.name for stream in STREAMS} >= set(IS_CUT)


@needs_samples
@pytest.mark.parametrize("stream", WHOLE, ids=lambda stream: stream.name)
def test_a_recorded_stream_is_what_the_sdk_makes_of_it(stream):
    made = assemble(stream.wire_format, stream.body)
    assert made[1:] == (True, [], ())
    assert recognize(events_of(stream.body)) == stream.wire_format
    body, payload = without_filter_results(stream.body, made.payload)
    for theirs in sdk_results(stream.wire_format, body):
        assert payload == without_unsaid(theirs, payload)


@needs_samples
@pytest.mark.parametrize("name", IS_CUT)
def test_a_stream_that_was_cut_off_is_what_the_sdk_makes_of_its_whole_events(name):
    [stream] = [stream for stream in STREAMS if stream.name == name]
    made = assemble(stream.wire_format, stream.body)
    assert (made.is_complete, kinds(made)) == (False, IS_CUT[name])
    whole = sse(*(json.loads(event.data) for event in events_of(stream.body) if not event.is_cut))
    assert made.payload == assemble(stream.wire_format, whole).payload
    body, payload = without_filter_results(whole, made.payload)
    if stream.wire_format == "openai_responses":
        # The SDK gives no response before its last event; its snapshot has the output so far.
        snapshot = response_state(data_of(body))._ResponseStreamState__current_snapshot
        results = [snapshot.to_dict(mode="json", warnings=False)]
    else:
        results = sdk_results(stream.wire_format, body)
    for theirs in results:
        assert payload == without_unsaid(theirs, payload)
