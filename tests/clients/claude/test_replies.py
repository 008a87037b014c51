"""Several outcomes become one reply that the client accepts."""

from __future__ import annotations

import itertools
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.clients.claude.replies import PRECEDENCE, merge, render
from holdfast.dispatch.budget import LIMIT_UNITS
from holdfast.dispatch.output import Reply
from holdfast.events import EVENTS, model
from holdfast.plugins import outcomes
from holdfast.process.terminal_text import printable
from tests import client_output
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

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

EXAMPLES = {
    "advise": outcomes.advise("a"),
    "allow": outcomes.allow("a"),
    "answer": outcomes.answer("accept", {"a": 1}),
    "ask": outcomes.ask("a"),
    "block": outcomes.block("a"),
    "change_input": outcomes.change_input({"a": 1}),
    "change_output": outcomes.change_output("a"),
    "classify": outcomes.classify("a"),
    "defer": outcomes.defer(),
    "deny": outcomes.deny("a"),
    "display": outcomes.display("a"),
    "environment": outcomes.environment({"A": "1"}),
    "force_turn": outcomes.force_turn("a"),
    "initial_message": outcomes.initial_message("a"),
    "instruct_summary": outcomes.instruct_summary("a"),
    "reload_skills": outcomes.reload_skills(),
    "retry": outcomes.retry(),
    "stop": outcomes.stop("a"),
    "suppress_prompt": outcomes.suppress_prompt(),
    "tell_user": outcomes.tell_user("a"),
    "terminal": outcomes.terminal("\x07"),
    "title": outcomes.title("a"),
    "watch": outcomes.watch(["/a"]),
    "worktree": outcomes.worktree("/a"),
}


def accepted(event: str) -> st.SearchStrategy[list[Outcome]]:
    """Return lists of outcomes that an event accepts."""
    kinds = sorted(model(event).accepts)
    return st.lists(st.one_of([STRATEGIES[kind] for kind in kinds]), max_size=6) if kinds else st.just([])


cases = st.sampled_from(list(EVENTS)).flatmap(lambda event: st.tuples(st.just(event), accepted(event)))


def specific(reply: Reply) -> dict[str, Any]:
    """Return a reply's `hookSpecificOutput`."""
    found: dict[str, Any] = json.loads(reply.stdout).get("hookSpecificOutput", {})
    return found


def test_there_is_a_strategy_for_every_kind() -> None:
    """A new kind of outcome cannot be forgotten here."""
    assert {kind for event in EVENTS for kind in model(event).accepts} == set(STRATEGIES)


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


@each_row("event", EVENTS)
def test_every_kind_alone_says_something_the_client_accepts(event: str) -> None:
    """Each accepted kind, alone, is acceptable; only a permission's changed input needs an approval beside it."""
    alone = {kind: merge(event, [EXAMPLES[kind]]) for kind in model(event).accepts}
    for reply in alone.values():
        client_output.assert_acceptable(event, reply.stdout)
    silent = {kind for kind, reply in alone.items() if reply == Reply()}
    assert silent == ({"change_input"} if event == "PermissionRequest" else set())


@each_row("event", EVENTS)
def test_nothing_to_say_is_empty_stdout(event: str) -> None:
    """No outcomes, or outcomes that say nothing on stdout, print nothing; never `{}`."""
    assert merge(event, []) == Reply()
    if "environment" in model(event).accepts:
        assert merge(event, [outcomes.environment({"A": "1"})]).stdout == ""
    if "watch" in model(event).accepts:
        assert merge(event, [outcomes.watch([])]).stdout == ""


@given(st.lists(st.sampled_from(PRECEDENCE), min_size=1, max_size=8))
@PROPERTY
def test_the_most_restrictive_decision_wins(kinds: list[str]) -> None:
    """deny > defer > ask > allow, whatever the order and the number of handlers, with that decision's reasons only."""
    makers: dict[str, Callable[[str], Outcome]] = {
        "deny": outcomes.deny,
        "defer": outcomes.defer,
        "ask": outcomes.ask,
        "allow": outcomes.allow,
    }
    said_so = [makers[kind](f"{kind} {index}") for index, kind in enumerate(kinds)]
    wanted = next(kind for kind in ("deny", "defer", "ask", "allow") if kind in kinds)

    found = specific(merge("PreToolUse", said_so))

    assert found["permissionDecision"] == wanted
    reasons = [f"{kind} {index}" for index, kind in enumerate(kinds) if kind == wanted]
    assert found["permissionDecisionReason"] == "\n\n".join(reasons)


@given(st.permutations(["deny", "ask", "allow"]))
@PROPERTY
def test_a_models_switch_knows_three_decisions(kinds: list[str]) -> None:
    """On PreModelSwitch, too, a refusal beats a question and a question an approval."""
    for size in (1, 2, 3):
        for chosen in itertools.combinations(kinds, size):
            found = specific(merge("PreModelSwitch", [EXAMPLES[kind] for kind in chosen]))
            assert found["permissionDecision"] == next(kind for kind in ("deny", "ask", "allow") if kind in chosen)


@given(st.lists(said, min_size=1, max_size=6))
@PROPERTY
def test_advice_stands_in_handler_order(texts: list[str]) -> None:
    """The order of advice is the handlers' order, whatever the priorities; what is whole is reported as delivered."""
    said_so = [outcomes.advise(text, priority=index % 3) for index, text in enumerate(texts)]
    reply = merge("PostToolUse", said_so)
    found = specific(reply).get("additionalContext", "")

    assert client_output.units(found) <= LIMIT_UNITS
    whole = [texts[index] for index in reply.delivered]
    positions = list(itertools.accumulate(whole, lambda at, text: found.index(text, at) + len(text), initial=0))
    assert positions == sorted(positions)
    if sum(client_output.units(text) + 2 for text in texts) <= LIMIT_UNITS:
        assert found == "\n\n".join(texts)
        assert reply.delivered == tuple(range(len(texts)))


@pytest.mark.slow
@given(accepted("PreToolUse"), accepted("PreToolUse"))
@PROPERTY
def test_a_merged_reply_is_made_of_its_parts(first: list[Outcome], second: list[Outcome]) -> None:
    """Splitting handlers into two groups changes nothing: the stricter decision, both advices, the later input."""
    one, two = (specific(reply) if reply.stdout else {} for reply in map(partial(merge, "PreToolUse"), (first, second)))
    both_reply = merge("PreToolUse", [*first, *second])
    both = specific(both_reply) if both_reply.stdout else {}

    decisions = [part.get("permissionDecision") for part in (one, two)]
    assert both.get("permissionDecision") == next((kind for kind in PRECEDENCE if kind in decisions), None)
    changed = [said.value for said in (*first, *second) if said.kind == "change_input"]
    refused = both.get("permissionDecision") in ("deny", "defer")
    assert both.get("updatedInput") == (changed[-1] if changed and not refused else None)
    advice = "\n\n".join(part["additionalContext"] for part in (one, two) if "additionalContext" in part)
    if client_output.units(advice) + 2 <= LIMIT_UNITS and "left out" not in advice:
        assert both.get("additionalContext", "") == advice


@pytest.mark.slow
@given(cases)
@PROPERTY
def test_merging_is_pure(case: tuple[str, list[Outcome]]) -> None:
    """The same outcomes give the same bytes, and merging leaves them as they were."""
    event, said_so = case
    before = json.dumps([outcomes.to_wire(one) for one in said_so])

    assert merge(event, said_so) == merge(event, list(said_so))
    assert json.dumps([outcomes.to_wire(one) for one in said_so]) == before


def test_must_keep_is_placed_first_under_pressure() -> None:
    """Where not everything fits, advice that must be kept is whole, and then the higher priorities."""
    block = "\n".join(["x" * 99] * 40)
    reply = merge(
        "UserPromptSubmit",
        [
            outcomes.advise(f"first\n{block}", priority=5),
            outcomes.advise(f"second\n{block}", priority=1),
            outcomes.advise(f"third\n{block}", must_keep=True),
        ],
    )
    found = specific(reply)["additionalContext"]

    assert reply.delivered == (0, 2)
    assert found.index("first") < found.index("third")
    assert all(
        line in ("", "first", "second", "third", "x" * 99) or line.startswith("(+") for line in found.split("\n")
    )
    assert client_output.units(found) <= LIMIT_UNITS


def test_delivered_counts_positions_among_all_outcomes() -> None:
    """`delivered` points into the merged sequence, past outcomes of other kinds."""
    said_so = [outcomes.tell_user("u"), outcomes.advise("a"), outcomes.stop("s"), outcomes.advise("b")]

    assert merge("PostToolUse", said_so).delivered == (0, 1, 3)
    assert merge("Stop", [outcomes.block("no"), outcomes.force_turn("go")]).delivered == (1,)


def test_advice_that_is_not_whole_is_not_delivered() -> None:
    """A text of which a line is missing counts as not delivered."""
    long = "\n".join(["x" * 99] * 120)

    assert merge("PostToolUse", [outcomes.advise("short"), outcomes.advise(long)]).delivered == (0,)


@given(st.lists(said, max_size=4))
@PROPERTY
def test_precompact_is_plain_text_unless_it_blocks(texts: list[str]) -> None:
    """On PreCompact stdout is never JSON, however JSON-like the text, except to block (client fact §2.3)."""
    plain = merge("PreCompact", [outcomes.instruct_summary(text) for text in texts]).stdout
    assert not plain.strip(" \t\r\n\v\f\ufeff\u00a0\u2028\u2029").startswith("{")
    assert bool(plain) is bool(texts)

    blocked = merge("PreCompact", [*map(outcomes.instruct_summary, texts), outcomes.block("not now")]).stdout
    assert json.loads(blocked) == {"decision": "block", "reason": "not now"}


def test_a_summary_instruction_is_passed_verbatim() -> None:
    """What a handler asks of the summariser is printed as it is, several joined in order."""
    said_so = [outcomes.instruct_summary("keep A"), outcomes.instruct_summary("keep B")]

    assert merge("PreCompact", said_so).stdout == "keep A\n\nkeep B"
    assert merge("PreCompact", [outcomes.instruct_summary('{"continue": true}')]).stdout == 'Note: {"continue": true}'


@each_row("before", ["", " ", "\n\t", "\ufeff", " \ufeff\u2028\u00a0"])
def test_a_text_that_begins_like_json_is_never_taken_for_it(before: str) -> None:
    """Whatever white space the client would trim, the text does not begin with a brace."""
    text = before + '{"decision": "block"}'

    assert merge("PreCompact", [outcomes.instruct_summary(text)]).stdout == f"Note: {text}"
    shown = printable(text)
    told = merge("PostCompact", [outcomes.tell_user(text)]).stdout
    assert told == (f"Note: {text}" if shown == text else shown)


def test_what_the_user_is_told_moves_no_cursor() -> None:
    """The client prints it, so a hostile name in it stands there as an escape; the model's text stays as it is."""
    name = "a\x1b[31m\u202eb\x9b\u2066"
    filler = merge("SessionStart", [outcomes.tell_user("a\u3164b")])  # a letter to Unicode, but without a shape
    told = merge("SessionStart", [outcomes.tell_user("plain"), outcomes.tell_user(name), outcomes.advise(name)])

    body = json.loads(told.stdout)
    assert json.loads(filler.stdout)["systemMessage"] == r"a\u3164b"
    assert body["systemMessage"] == "plain\n\n" + r"a\u001b[31m\u202eb\u009b\u2066"
    assert body["hookSpecificOutput"]["additionalContext"] == name


def test_notes_to_the_classifier_have_their_own_smaller_limit() -> None:
    """classifierContext is at most 2,000 units, in whole lines (client fact §1.9)."""
    notes = [outcomes.classify("\n".join([f"{name} note"] * 150)) for name in ("first", "second")]
    found = specific(merge("PostToolUse", notes))["classifierContext"]

    assert 1_800 < client_output.units(found) <= 2_000
    assert found.startswith("first note\n")


def test_postcompact_speaks_to_the_user_in_plain_text() -> None:
    """PostCompact's stdout is shown to the user; there is no JSON for it."""
    assert merge("PostCompact", [outcomes.tell_user("saved")]).stdout == "saved"


def test_a_worktrees_path_is_the_last_one_alone() -> None:
    """WorktreeCreate takes one line, the path."""
    assert merge("WorktreeCreate", [outcomes.worktree("/a"), outcomes.worktree("/b")]).stdout == "/b"


@pytest.mark.parametrize("event", sorted(client_output.EXIT_CODE))
def test_two_events_block_with_exit_code_2(event: str) -> None:
    """TeammateIdle and TaskCompleted know no JSON block: the reason goes to stderr beside exit code 2."""
    reply = merge(event, [outcomes.block("not done"), outcomes.block("really")])

    assert (reply.exit_code, reply.stdout, reply.stderr) == (2, "", "not done\n\nreally")
    stopped = merge(event, [outcomes.stop("enough")])
    assert (stopped.exit_code, json.loads(stopped.stdout)) == (0, {"continue": False, "stopReason": "enough"})


@pytest.mark.parametrize("event", sorted(client_output.EXIT_CODE))
def test_what_the_user_gets_stands_beside_exit_code_2(event: str) -> None:
    """The client reads JSON also beside exit code 2: a message and a bell are not lost with a block."""
    reply = merge(event, [outcomes.block("not done"), outcomes.tell_user("look"), outcomes.terminal("\a")])

    assert (reply.exit_code, reply.stderr) == (2, "not done")
    assert json.loads(reply.stdout) == {"systemMessage": "look", "terminalSequence": "\a"}


@pytest.mark.parametrize("title", ["x" * 4_000, "ä" * 2_000], ids=["ascii", "two-byte"])
def test_sequences_are_joined_as_far_as_the_client_takes_them(title: str) -> None:
    """Beyond 4,096 bytes of UTF-8 the client would drop them all, so the later ones stay away."""
    long = outcomes.terminal(f"\x1b]0;{title}\a")
    said_so = [outcomes.terminal("\a"), long, long, outcomes.terminal("\a")]

    assert json.loads(merge("Stop", said_so).stdout) == {"terminalSequence": f"\a{long.text}\a"}


@each_row("event", sorted(client_output.BLOCKABLE))
def test_reasons_to_block_are_joined(event: str) -> None:
    """Everywhere else a block is JSON with the reasons in handler order, each once."""
    body = client_output.assert_acceptable(
        event, merge(event, [outcomes.block("one"), outcomes.block("two"), outcomes.block("one")]).stdout
    )
    assert (body["decision"], body["reason"]) == ("block", "one\n\ntwo")


def test_changing_input_never_approves() -> None:
    """A changed input stands without a decision, unless a handler also allowed the call."""
    alone = specific(merge("PreToolUse", [outcomes.change_input({"command": "ls"})]))
    assert alone == {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls"}}

    allowed = specific(merge("PreToolUse", [outcomes.change_input({"command": "ls"}), outcomes.allow()]))
    assert allowed["permissionDecision"] == "allow"
    assert allowed["updatedInput"] == {"command": "ls"}


def test_the_last_changed_input_wins() -> None:
    """Each handler saw the input as changed so far, so the last one holds all changes."""
    said_so = [outcomes.change_input({"a": 1}), outcomes.change_input({"a": 1, "b": None})]

    assert specific(merge("PreToolUse", said_so))["updatedInput"] == {"a": 1, "b": None}


@pytest.mark.parametrize("refusal", [outcomes.deny("no"), outcomes.defer("later")])
def test_a_refused_call_has_no_changed_input(refusal: Outcome) -> None:
    """An input that will not be used is not sent."""
    assert "updatedInput" not in specific(merge("PreToolUse", [outcomes.change_input({"a": 1}), refusal]))


def test_a_permissions_decision() -> None:
    """PermissionRequest has a decision of its own shape; a refusal beats everything."""
    allow = outcomes.allow(permissions=[{"type": "setMode"}])
    change = outcomes.change_input({"a": 1})
    deny, hard = outcomes.deny("no"), outcomes.deny("never", interrupt=True)

    assert specific(merge("PermissionRequest", [change, allow]))["decision"] == {
        "behavior": "allow",
        "updatedInput": {"a": 1},
        "updatedPermissions": [{"type": "setMode"}],
    }
    approvals = [allow, outcomes.allow(permissions=[{"type": "addRules"}]), outcomes.allow()]
    assert specific(merge("PermissionRequest", approvals))["decision"] == {
        "behavior": "allow",
        "updatedPermissions": [{"type": "setMode"}, {"type": "addRules"}],
    }
    later = outcomes.change_input({"a": 1, "b": 2})
    assert specific(merge("PermissionRequest", [change, allow, later]))["decision"]["updatedInput"] == {"a": 1, "b": 2}
    assert specific(merge("PermissionRequest", [allow, deny]))["decision"] == {"behavior": "deny", "message": "no"}
    for denials, message in (([deny, hard], "no\n\nnever"), ([hard, deny], "never\n\nno"), ([hard], "never")):
        assert specific(merge("PermissionRequest", [*denials, change]))["decision"] == {
            "behavior": "deny",
            "message": message,
            "interrupt": True,
        }
    assert merge("PermissionRequest", [change]).stdout == ""


def test_what_is_said_once_and_what_adds_up() -> None:
    """Watched paths add up, each once, and so do messages; of titles and outputs the last one is taken."""
    found = specific(
        merge(
            "SessionStart",
            [
                outcomes.watch(["/a", "/b"]),
                outcomes.title("one"),
                outcomes.initial_message("first"),
                outcomes.watch(["/b", "/c"]),
                outcomes.title("two"),
                outcomes.initial_message("second"),
                outcomes.reload_skills(),
            ],
        )
    )
    assert found == {
        "hookEventName": "SessionStart",
        "watchPaths": ["/a", "/b", "/c"],
        "sessionTitle": "two",
        "initialUserMessage": "first\n\nsecond",
        "reloadSkills": True,
    }
    changed = [outcomes.change_output("one"), outcomes.change_output({"two": 2})]
    assert specific(merge("PostToolUse", changed))["updatedToolOutput"] == {"two": 2}


def test_an_answer_without_content_has_no_content() -> None:
    """Declining an MCP server's question sends no form; accepting an empty form sends an empty one."""
    assert specific(merge("Elicitation", [outcomes.answer("decline")])) == {
        "hookEventName": "Elicitation",
        "action": "decline",
    }
    assert specific(merge("Elicitation", [outcomes.answer("accept", {})]))["content"] == {}


@pytest.mark.parametrize("event", ["Elicitation", "ElicitationResult"])
def test_a_refused_question_is_not_answered_by_another_handler(event: str) -> None:
    """decline > cancel > accept in any order, and a form goes out only with an acceptance."""
    accept, later = outcomes.answer("accept", {"name": "x"}), outcomes.answer("accept")
    cancel, decline = outcomes.answer("cancel"), outcomes.answer("decline", {"name": "y"})

    for said_so in itertools.permutations([accept, cancel, decline]):
        assert specific(merge(event, said_so)) == {"hookEventName": event, "action": "decline"}
    assert specific(merge(event, [cancel, accept])) == {"hookEventName": event, "action": "cancel"}
    assert specific(merge(event, [accept, later]))["content"] == {"name": "x"}


def test_each_message_that_starts_a_session_has_its_share() -> None:
    """Joined messages count for the handlers that said them."""
    reply = merge("SessionStart", [outcomes.initial_message("first"), outcomes.initial_message("other one")])

    assert sum(reply.shares.values()) >= len("first") + len("other one")
    assert set(reply.shares) == {0, 1}


def test_environments_add_up_and_the_later_value_wins() -> None:
    """Variables of several handlers come together; folders keep their order, each once."""
    reply = merge(
        "SessionStart",
        [outcomes.environment({"A": "1", "B": "1"}, path=["/x", "/y"]), outcomes.environment({"A": "2"}, path=["/x"])],
    )
    assert (reply.variables, reply.path, reply.stdout) == ({"A": "2", "B": "1"}, ("/x", "/y"), "")


def test_words_stay_readable_and_half_an_emoji_breaks_nothing() -> None:
    """Text is written as UTF-8; a lone surrogate, which has no UTF-8, is escaped."""
    assert "Grüße ✓" in merge("PostToolUse", [outcomes.advise("Grüße ✓")]).stdout
    broken = merge("PostToolUse", [outcomes.advise("half \ud83d")]).stdout
    assert broken.isascii()
    assert json.loads(broken)["hookSpecificOutput"]["additionalContext"] == "half \ud83d"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_no_json_is_never_written(value: float) -> None:
    """One NaN would make the client drop the whole reply, so it is an error where it is merged."""
    with pytest.raises(ValueError, match="JSON"):
        render({"hookSpecificOutput": {"updatedInput": {"a": value}}})


def test_the_same_reason_is_given_once() -> None:
    """Two guards with the same words are not repeated to the model."""
    found = specific(merge("PreToolUse", [outcomes.deny(reason) for reason in ("no", "no", "never")]))

    assert found["permissionDecisionReason"] == "no\n\nnever"


def test_a_blank_reason_is_none() -> None:
    """A decision may come without a reason: white space is not said, alone or beside another's words."""
    assert specific(merge("PreToolUse", [outcomes.allow(" \n")])) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
    }
    both = merge("PreToolUse", [outcomes.allow(" "), outcomes.allow("harmless"), outcomes.allow()])
    assert specific(both)["permissionDecisionReason"] == "harmless"


def test_a_replaced_output_counts_as_the_model_sees_it() -> None:
    """The last one alone, for it was made from the others; half of an emoji's units are not forgotten."""
    texts = [outcomes.change_output("long and unmasked"), outcomes.change_output("a😀")]
    data = [outcomes.advise("x"), outcomes.change_output({"a": "ü"})]

    assert merge("PostToolUse", texts).shares == {1: 3}
    assert merge("PostToolUse", data).shares == {0: 1, 1: len('{"a": "ü"}')}
