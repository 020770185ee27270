"""What was handed out is found again, wherever it lies by then."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.importers.claude_code import emitted_ids
from palaver.importers.claude_code.emitted_ids import EmittedIds

IDS = st.sampled_from([f"id-{number}" for number in range(30)])
PIECES = st.lists(
    st.tuples(
        st.dictionaries(IDS, st.sampled_from(["", "m1", "m2", "m3"])),
        st.dictionaries(st.sampled_from(["m1", "m2", "m3"]), st.integers(1, 1 << 62)),
        st.dictionaries(IDS, st.tuples(IDS, st.none() | st.just({"output_tokens": 1 << 70}))),
    )
)


@given(PIECES, st.integers(1, 20))
def test_the_newest_piece_that_holds_an_id_answers(pieces, ids_per_group):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emitted_ids, "_IDS_PER_GROUP", ids_per_group)
        store = EmittedIds()
        lines, signatures, answers = {}, {}, {}
        for some_lines, some_signatures, some_answers in pieces:
            # A message's own id is one of its lines.
            some_lines |= {message_id: message_id for message_id in some_signatures}
            store.add(some_lines, some_signatures, some_answers)
            lines |= some_lines
            signatures |= some_signatures
            answers |= some_answers
        for text in [f"id-{number}" for number in range(30)] + ["m1", "m2", "m3", "never"]:
            assert store.message_of_line(text) == lines.get(text)
            assert store.signature(text) == signatures.get(text)
            # A figure past 64 bits is not kept.
            assert store.answer(text) == ((answers[text][0], {}) if text in answers else None)
        store.close()
