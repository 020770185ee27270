"""The fast search for parents finds what scoring every pair finds."""

import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.cook.parents import Request, parent_indexes


def levenshtein(one, other):
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


def plain_parents(requests):
    """Word for word: every earlier request of the same model is scored, the most recent first."""
    order = sorted(range(len(requests)), key=lambda place: requests[place].timestamp)
    found = [None] * len(requests)
    for rank, place in enumerate(order):
        current = requests[place]
        best = winner = None
        for earlier in reversed(order[:rank]):
            candidate = requests[earlier]
            if candidate.model != current.model:
                continue
            apart = levenshtein([*candidate.messages, *candidate.response], list(current.messages))
            score = -apart - 0.5 * len(set(candidate.tools) ^ set(current.tools))
            if best is None or score > best:
                best, winner = score, earlier
        if best is not None and best >= -0.5 * len(current.messages):
            found[place] = winner
    return found


def request(timestamp, messages, response=(), tools=(), model="m"):
    return Request(timestamp, model, array("I", messages), array("I", response), array("I", tools))


def random_trace(seed):
    """Talks that go on, branch, are rewound, compacted, repeated, and interleaved with others."""
    dice = random.Random(seed)
    fresh = iter(range(10, 10_000))
    trace = []
    talks = [[0]]
    for _ in range(dice.randrange(2, 25)):
        match dice.randrange(8):
            case 0:
                talks.append([0, next(fresh)])
            case 1:
                talks.append(dice.choice(talks)[: dice.randrange(1, 6)])
            case 2:
                talk = dice.choice(talks)
                talks.append([0, next(fresh), *talk[-2:]])
            case 3:
                talks.append([dice.randrange(9) for _ in range(dice.randrange(6))])
            case _:
                pass
        talk = dice.choice(talks)
        response = [next(fresh) if dice.random() < 0.8 else dice.randrange(5) for _ in range(dice.randrange(3))]
        tools = dice.sample(range(4), dice.choice((0, 2, 2, 3)))
        timestamp = len(trace) if dice.random() < 0.9 else dice.randrange(5)
        trace.append(request(timestamp, talk, response, tools, dice.choice("aab")))
        talk += [*response, *(next(fresh) for _ in range(dice.randrange(3)))]
    return trace


@pytest.mark.parametrize("seed", range(10))
def test_on_random_traces_it_equals_the_plain_scoring(seed):
    for number in range(100):
        trace = random_trace(1000 * seed + number)
        assert parent_indexes(trace) == plain_parents(trace), number


numbers = st.integers(0, 5)
sequences = st.lists(numbers, max_size=6)


@given(st.lists(st.tuples(st.integers(0, 4), sequences, sequences, st.sets(numbers, max_size=3)), max_size=8))
def test_law_it_equals_the_plain_scoring(made):
    trace = [request(time, messages, response, sorted(tools)) for time, messages, response, tools in made]
    assert parent_indexes(trace) == plain_parents(trace)


def test_a_talk_is_a_chain():
    trace = [request(0, [0, 1], [2]), request(1, [0, 1, 2, 3], [4]), request(2, [0, 1, 2, 3, 4, 5], [6])]
    assert parent_indexes(trace) == [None, 0, 1]


def test_the_latest_of_equal_ones_wins():
    assert parent_indexes([request(0, [0, 1], [2]), request(1, [0, 1], [2]), request(2, [0, 1, 2, 3])]) == [None, 0, 1]


def test_another_model_and_another_topic_begin_anew():
    trace = [request(0, [0, 1], [2]), request(1, [0, 1, 2, 3], model="other"), request(2, [0, 7, 8, 9])]
    assert parent_indexes(trace) == [None, None, None]


def test_tools_decide_between_equal_ones():
    trace = [request(0, [0, 1], [2], [1, 2]), request(1, [0, 1], [2], [1]), request(2, [0, 1, 2, 3], (), [1, 2])]
    assert parent_indexes(trace)[2] == 0
