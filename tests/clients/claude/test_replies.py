"""Several outcomes become one reply that the client accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.clients.claude.replies import merge, render
from holdfast.events import EVENTS
from holdfast.plugins import outcomes
from tests import client_output

if TYPE_CHECKING:
    from holdfast.plugins.outcomes import Outcome

PROPERTY = settings(derandomize=True, database=None, deadline=None, max_examples=300)

# Every character a handler could say, half of an emoji and what looks like JSON included.
words = st.text(
    st.characters() | st.sampled_from('{}[]"\n\ufeff😀') | st.just("\ud83d"), min_size=1, max_size=40
).filter(str.strip)
long_words = st.builds(lambda text, count: f"{text}\n" * count, words, st.sampled_from([1, 1, 1, 200, 3_000]))
said = words | long_words
names = st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
sequences = st.one_of(
    st.just("\a"), st.builds("\x1b]0;{}\a".format, st.text(st.characters(categories=["L", "N"]), max_size=900))
)
objects = st.dictionaries(st.text(), values, max_size=3)
STRATEGIES: dict[str, st.SearchStrategy[Outcome]] = {
    "advise": st.builds(outcomes.advise, said, priority=st.integers(-3, 3), must_keep=st.booleans()),
    "allow": st.builds(outcomes.allow, st.just("") | said, permissions=st.lists(objects, max_size=2)),
    "answer": st.builds(outcomes.answer, st.sampled_from(["accept", "decline", "cancel"]), st.none() | objects),
    "ask": st.builds(outcomes.ask, said),
    "block": st.builds(outcomes.block, said),
    "change_input": st.builds(outcomes.change_input, objects),
    "change_output": st.builds(outcomes.change_output, values.filter(lambda value: value is not None)),
    "classify": st.builds(outcomes.classify, said),
    "defer": st.builds(outcomes.defer, st.just("") | said),
    "deny": st.builds(outcomes.deny, said, interrupt=st.booleans()),
    "display": st.builds(outcomes.display, st.text()),
    "environment": st.builds(outcomes.environment, st.dictionaries(names, st.text()), path=st.lists(words)),
    "force_turn": st.builds(outcomes.force_turn, said),
    "initial_message": st.builds(outcomes.initial_message, said),
    "instruct_summary": st.builds(outcomes.instruct_summary, said),
    "reload_skills": st.builds(outcomes.reload_skills),
    "retry": st.builds(outcomes.retry),
    "stop": st.builds(outcomes.stop, said),
    "suppress_prompt": st.builds(outcomes.suppress_prompt),
    "tell_user": st.builds(outcomes.tell_user, said),
    "terminal": st.builds(outcomes.terminal, sequences),
    "title": st.builds(outcomes.title, words),
    "watch": st.builds(outcomes.watch, st.lists(words)),
    "worktree": st.builds(outcomes.worktree, words.map(lambda text: text.replace("\n", " ").strip() or "x")),
}


def accepted(event: str) -> st.SearchStrategy[list[Outcome]]:
    """Return lists of outcomes that an event accepts."""
    kinds = sorted(EVENTS[event].accepts)
    return st.lists(st.one_of([STRATEGIES[kind] for kind in kinds]), max_size=6) if kinds else st.just([])


cases = st.sampled_from(list(EVENTS)).flatmap(lambda event: st.tuples(st.just(event), accepted(event)))


def test_there_is_a_strategy_for_every_kind() -> None:
    """A new kind of outcome cannot be forgotten here."""
    assert {kind for event in EVENTS for kind in EVENTS[event].accepts} == set(STRATEGIES)


@pytest.mark.slow
@given(cases)
@PROPERTY
def test_every_reply_is_one_the_client_accepts(case: tuple[str, list[Outcome]]) -> None:
    """Whatever handlers say on whichever event, stdout is empty or exactly what that event takes."""
    event, said_so = case
    reply = merge(event, said_so)

    client_output.assert_acceptable(event, reply.stdout)
    assert reply.exit_code in ((0, 2) if event in client_output.EXIT_CODE else (0,))
    assert (reply.exit_code == 2) is bool(reply.stderr)
    assert reply.stdout.encode("utf-8", "replace").count(b"\n") == 0 or event in client_output.PLAIN


def test_delivered_counts_positions_among_all_outcomes() -> None:
    """`delivered` points into the merged sequence, past outcomes of other kinds."""
    said_so = [outcomes.tell_user("u"), outcomes.advise("a"), outcomes.stop("s"), outcomes.advise("b")]

    assert merge("PostToolUse", said_so).delivered == (0, 1, 3)
    assert merge("Stop", [outcomes.block("no"), outcomes.force_turn("go")]).delivered == (1,)


def test_each_message_that_starts_a_session_has_its_share() -> None:
    """Joined messages count for the handlers that said them."""
    reply = merge("SessionStart", [outcomes.initial_message("first"), outcomes.initial_message("other one")])

    assert sum(reply.shares.values()) >= len("first") + len("other one")
    assert set(reply.shares) == {0, 1}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_no_json_is_never_written(value: float) -> None:
    """One NaN would make the client drop the whole reply, so it is an error where it is merged."""
    with pytest.raises(ValueError, match="JSON"):
        render({"hookSpecificOutput": {"updatedInput": {"a": value}}})


def test_a_replaced_output_counts_as_the_model_sees_it() -> None:
    """The last one alone, for it was made from the others; half of an emoji's units are not forgotten."""
    texts = [outcomes.change_output("long and unmasked"), outcomes.change_output("a😀")]
    data = [outcomes.advise("x"), outcomes.change_output({"a": "ü"})]

    assert merge("PostToolUse", texts).shares == {1: 3}
    assert merge("PostToolUse", data).shares == {0: 1, 1: len('{"a": "ü"}')}
