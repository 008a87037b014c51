"""A strict handler judges the input that will be used, whatever other handlers make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.api.author import handler

if TYPE_CHECKING:
    from tests.api.author import Authors
    from tests.processes import Place

STRICT = "strict=True"
GUARD = "if 'rm' in event.tool_input['command']: return deny('no rm: ' + event.tool_input['command'])"
COUNT = "note(context.root / '{}', 'x')"
Answers = dict[str, tuple[str, str]]


def to(command: str) -> str:
    """Return a body that changes the command."""
    return f"return change_input({{'command': {command!r}}})"


def unless(wanted: str) -> str:
    """Return a body that changes the command to one, if it is another."""
    return f"if event.tool_input['command'] != {wanted!r}: {to(wanted)}"


def steps(**following: str) -> str:
    """Return a body that changes some commands, each to the one that follows it."""
    body = f"step = {following}.get(event.tool_input['command'])\n"
    return f"{body}return change_input({{'command': step}}) if step else None"


ADD = "return change_input({'command': event.tool_input['command'] + ' --safe'})"
MEND = "return change_input({'command': event.tool_input['command'].replace('rm', 'ls')})"
MAGIC = "if 'magic' in event.tool_input['command']: " + to("rm -rf x")
REFUSED = {"permissionDecision": "deny"}
# What it shows: handlers, each with its options, and what the reply to `ls` must hold of hookSpecificOutput
TABLE: dict[str, tuple[Answers, dict[str, Any]]] = {
    "a guard before the change judges again": (
        {"a": (GUARD, STRICT), "b": (to("rm -rf x"), "")},
        REFUSED | {"permissionDecisionReason": "no rm: rm -rf x (user/a.py)"},
    ),
    "what it lets pass runs": ({"a": (GUARD, STRICT), "b": (to("ls -l"), "")}, {"updatedInput": {"command": "ls -l"}}),
    "a guard that fails at its second judgement refuses": (
        {"a": ("assert event.tool_input['command'] == 'ls'", STRICT), "b": (to("pwd"), "")},
        REFUSED,
    ),
    "a guard that corrects has the last word": (
        {"a": (MEND, STRICT), "b": (to("rm -rf x"), "")},
        {"updatedInput": {"command": "ls -rf x"}},
    ),
    "a guard isn't asked about its own change": ({"a": (ADD, STRICT)}, {"updatedInput": {"command": "ls --safe"}}),
    "a correction is judged by a guard before it": (
        {"a": (GUARD, STRICT), "b": (MAGIC, STRICT), "c": (to("magic"), "")},
        REFUSED | {"permissionDecisionReason": "no rm: rm -rf x (user/a.py)"},
    ),
    "a correction is judged by a guard after it": (
        {"b": (MAGIC, STRICT), "c": (to("magic"), ""), "d": (GUARD, STRICT)},
        REFUSED | {"permissionDecisionReason": "no rm: rm -rf x (user/d.py)"},
    ),
    "a change back to what came is judged": (
        {
            "a": (to("pwd"), ""),
            "b": ("if event.tool_input['command'] == 'ls': return allow()", STRICT),
            "c": (to("ls"), ""),
        },
        {"updatedInput": {"command": "ls"}, "permissionDecision": "allow"},
    ),
    "guards that agree in the end let it run": (
        {
            "a": (steps(one="two", three="four"), STRICT),
            "b": (steps(two="three"), STRICT),
            "c": (to("one"), ""),
        },
        {"updatedInput": {"command": "four"}},
    ),
    "guards that never agree refuse": ({"a": (unless("one"), STRICT), "b": (unless("two"), STRICT)}, REFUSED),
    "an approval doesn't hold for a later change": (
        {"a": ("return allow('harmless')", ""), "b": (to("rm -rf x"), "")},
        {"updatedInput": {"command": "rm -rf x"}, "permissionDecision": None},
    ),
    "an approval holds for its own change": (
        {"a": ("return allow('old')", ""), "b": ("return [allow('own'), change_input({'command': 'pwd'})]", "")},
        {"permissionDecision": "allow", "permissionDecisionReason": "own"},
    ),
    "an approval holds for the same input": (
        {"a": ("return allow('harmless')", ""), "b": ("return change_input(event.tool_input)", "")},
        {"permissionDecisionReason": "harmless"},
    ),
    "a question is asked whatever comes of the input": (
        {"a": ("return ask('sure?')", ""), "b": (to("rm -rf x"), "")},
        {"permissionDecision": "ask"},
    ),
    "a strict approval is asked for again": (
        {"a": ("if 'rm' not in event.tool_input['command']: return allow()", STRICT), "b": (to("ls -l"), "")},
        {"permissionDecision": "allow"},
    ),
    "and isn't given": (
        {"a": ("if 'rm' not in event.tool_input['command']: return allow()", STRICT), "b": (to("rm"), "")},
        {"permissionDecision": None},
    ),
}


def test_a_guard_judges_the_final_input(author: Authors) -> None:
    """Again for each change by another handler, until all guards have seen what will be used."""
    wrong = []
    for what, (answers, expected) in TABLE.items():
        project = author({name: handler(body, options=options) for name, (body, options) in answers.items()})
        fired = project.bash()
        specific = {key: fired.specific.get(key) for key in expected}
        unused = specific.get("permissionDecision") == "deny" and "updatedInput" in fired.specific
        if specific != expected or unused:
            wrong.append(f"{what}: {fired.stdout}")
    assert not wrong, "\n".join(wrong)


def test_guards_that_never_agree_are_named(author: Authors) -> None:
    """And so is the reason, which no handler gave."""
    made = author({"a": handler(unless("one"), options=STRICT), "b": handler(unless("two"), options=STRICT)})
    reason = made.bash().specific["permissionDecisionReason"]
    assert "user/" in reason
    assert "kept changing each other's" in reason


def test_a_guard_that_ends_the_turn_at_its_second_judgement_is_heard(author: Authors) -> None:
    """`stop` decides as a refusal does."""
    made = author({"a": handler(GUARD.replace("deny(", "stop("), options=STRICT), "b": handler(to("rm"))})
    assert made.bash().reply["stopReason"] == "no rm: rm"


def test_only_a_guard_that_has_not_seen_the_final_input_is_called_twice(author: Authors) -> None:
    """Others, and guards after the last change, are called once."""
    made = author(
        {
            "a": handler(COUNT.format("free")),
            "b": handler(COUNT.format("early"), options=STRICT),
            "c": handler(to("pwd")),
            "d": handler(COUNT.format("late"), options=STRICT),
            "e": handler("return change_input(event.tool_input)"),
        }
    )
    made.bash()
    counts = {name: (made.root / name).read_text() for name in ("free", "early", "late")}
    assert counts == {"free": "x", "early": "xx", "late": "x"}


def test_a_second_judgement_says_nothing_twice(author: Authors) -> None:
    """The terminal rings once, the user and the model are told once, and advice is delivered once."""
    delivered = f"on_delivered=lambda: {COUNT.format('noted')}"
    said = f"return [terminal('\\a'), tell_user('look'), advise('careful', {delivered})]"
    made = author({"a": handler(said, options=STRICT), "b": handler(to("pwd"))})
    fired = made.bash()
    assert (fired.reply["terminalSequence"], fired.reply["systemMessage"], fired.context) == ("\a", "look", "careful")
    assert (made.root / "noted").read_text() == "x"


def test_a_strict_handlers_failure_is_a_refusal_with_a_way_out(author: Authors) -> None:
    """In the form of its event; other handlers that fail refuse nothing, and their order stays."""
    events = {
        "PreToolUse": "pre_tool_use",
        "PermissionRequest": "permission_request",
        "UserPromptSubmit": "user_prompt_submit",
        "UserPromptExpansion": "user_prompt_expansion",
        "PreSkillShellCommand": "pre_skill_shell_command",
    }
    wrong = []
    for event, name in events.items():
        made = author({"guard": handler("1 / 0", name, STRICT), "other": handler("1 / 0", name)})
        fired = made.fire(event, tool_name="Bash", tool_input={"command": "ls"}, prompt="p")
        decision = fired.specific.get("decision", {})
        reason = fired.specific.get("permissionDecisionReason") or decision.get("message") or fired.reply.get("reason")
        kind = fired.specific.get("permissionDecision") or decision.get("behavior") or fired.reply.get("decision")
        words = (f"user/guard.py: on_{name} raised ZeroDivisionError", "holdfast handlers off guard", "holdfast.log")
        if kind != ("block" if "Prompt" in event else "deny") or not all(word in str(reason) for word in words):
            wrong.append(f"{event}: {fired.stdout}")
        if "other" in str(reason):
            wrong.append(f"{event}: {reason}")
    made = author(
        {"a": handler("return deny('A')"), "b": handler("1 / 0", options=STRICT), "c": handler("return deny('C')")}
    )
    reason = made.bash().specific["permissionDecisionReason"]
    if not reason.index("A (user") < reason.index("user/b.py") < reason.index("C (user"):
        wrong.append(reason)
    assert not wrong, "\n".join(wrong)


def test_a_guard_judges_again_also_after_its_process_died(place: Place) -> None:
    """What handlers in later processes changed is judged by a guard of the first one."""
    place.user_handler("a", handler(GUARD, options=STRICT))
    place.user_handler("b", handler("os._exit(1)"))
    place.user_handler("c", handler("return change_input({'command': event.tool_input['command'] + '; r'})"))
    place.user_handler("d", handler("os._exit(1)"))
    place.user_handler("e", handler("return change_input({'command': event.tool_input['command'] + 'm'})"))
    call = place.payload("PreToolUse-Bash", tool_input={"command": "ls"})
    assert place.fire(call).specific["permissionDecisionReason"] == "no rm: ls; rm (user/a.py)"
