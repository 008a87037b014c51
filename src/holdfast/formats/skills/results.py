"""Record what came of checkpoints, steps and tests in a skill's state (R004-20 to R004-23, R004-27).

Commands record test results, or they are read from the output of test runs in a session's transcript.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import TransitionError
from holdfast.formats.skills import moves
from holdfast.workflow import values
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.clients.client import Work
    from holdfast.formats.skills.schema import State

NEVER_RED = "no failing test was recorded in RED; write a test that fails first"
_LIMIT_CHARS = 50_000  # of an output's end
_COMMAND_LIMIT_CHARS = 20_000
_MOST = 50  # tests that are named
_FAILED = (
    re.compile(r"^(?:FAILED|ERROR) (?:\S*::)?(\S+)", re.MULTILINE),  # pytest
    re.compile(r"^test (?:\S*::)?(\S+) \.\.\. FAILED$", re.MULTILINE),  # cargo
    re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE),  # go
    re.compile(r"^\s*[✕×] (.{1,200}?)(?: \(\d+ m?s\))?$", re.MULTILINE),  # jest, vitest
)
_PASSED = (
    re.compile(r"^(?:\S*::)?(test\S*) PASSED", re.MULTILINE),
    re.compile(r"^test (?:\S*::)?(\S+) \.\.\. ok$", re.MULTILINE),
    re.compile(r"^\s*--- PASS: (\S+)", re.MULTILINE),
    re.compile(r"^\s*[✓✔] (.{1,200}?)(?: \(\d+ m?s\))?$", re.MULTILINE),
)
_COUNT_FAILED = re.compile(r"\b[1-9]\d{0,6} (?:failed|errors?)\b")
_COUNT_PASSED = re.compile(r"\b[1-9]\d{0,6} passed\b")
_REASONS = (
    re.compile(r"^E\s+(\S.*)$", re.MULTILINE),
    re.compile(r"^error(?:\[\w+\])?: (.+)$", re.MULTILINE),
    re.compile(r"^(?:\w+)?(?:Error|Exception): (.+)$", re.MULTILINE),
)
_REASON_LIMIT_CHARS = 300
_REDIRECTION = re.compile(r"(?:\d|&)?>{1,2}(?:&\d|\s*[^\s;&|()]+)?")
_SEPARATORS = ";&|()\n"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Tests(NamedTuple):
    """What is known of a test run, or of a part of a test-driven task.

    Attributes:
        file: the test's file, or in GREEN the implementation's.
        name: the test's name.
        reason: why it fails.
        command: the command that ran the tests.
        failing: the tests that fail.
        passing: the tests that pass.
        passed: whether they passed; None if that follows from the other values.
    """

    file: str = ""
    name: str = ""
    reason: str = ""
    command: str = ""
    failing: Sequence[str] = ()
    passing: Sequence[str] = ()
    passed: bool | None = None

    @property
    def result(self) -> str:
        """What came of them: `passed` or `failed`."""
        return "failed" if self.failing or self.reason or self.passed is False else "passed"


def checkpoint(state: State, name: str, *, passed: bool, fields: Mapping[str, Any]) -> None:
    """Record that a checkpoint was run and whether it passed; nothing changes if that was recorded last.

    Its name may be the short one (I004-7). A checkpoint that has fields of its own, but neither `last_run` nor
    `passed`, gets no such fields: a pull request exists, or doesn't.

    Raises TransitionError for an unknown checkpoint, and if the workflow is blocked or over.
    """
    moves.ensure_unblocked(state)
    points = state.checkpoints
    name = next((each for each in points if name in (each, state.rules.word(each))), name)
    if name not in points:
        raise TransitionError(missing(f"checkpoint {name!r}", list(points), "the workflow has no checkpoints"))
    point = points[name]
    is_test = set(point) <= {"status"} or bool({"last_run", "passed"} & set(point)) or not passed
    wanted = {"status": "completed", **({"passed": passed} if is_test else {}), **fields}
    if all(key in point and point[key] == value for key, value in wanted.items()):
        return
    point |= {"status": "completed", **({"last_run": state.at} if is_test else {}), **wanted}
    state.note("checkpoint", checkpoint=name, passed=passed)


def step(state: State, name: str) -> None:
    """Make a step of the current phase the current one. Raises TransitionError for an unknown one, with those known."""
    moves.ensure_unblocked(state)
    steps = values.texts(state.phase(state.current).get("steps"), "steps", [])
    if name not in steps:
        raise TransitionError(missing(f"step {name!r}", steps, "it has no steps", where=f"{state.current} has"))
    if state.machine_state.get("current_step") != name:
        state.machine_state["current_step"] = name
        state.note("step_started", step=name)


def part(state: State, name: str, tests: Tests) -> str:
    """Go to a part of a test-driven task (red, green, refactor, commit), and record its tests.

    In a machine that has these as phases, the phase begins. Else it is a part of the task that is worked on.

    Returns:
        What is doubtful about it; empty for nothing.

    Raises:
        TransitionError: the workflow has no such part, no task is in progress, or the transition isn't allowed.
    """
    is_phase = name in state.rules.order
    doubt = NEVER_RED if name == "green" and not _was_red(state, None if is_phase else state.current_task) else ""
    if is_phase:
        moves.enter(state, name)
        _write_phase(state, name, tests)
    else:
        _go_to_part(state, name)
    if tests.command or tests.failing or tests.passing or (name == "red" and tests.reason):
        _record_run(state, tests, None if is_phase else state.current_task)
    if doubt and not is_never_red(state):
        state.note("never_red", note=doubt)
    return doubt


def record_seen(state: State, tests: Tests) -> None:
    """Record a test run that the transcript shows. In GREEN, a pass that no failure came before is noted as such.

    Outside a task, only a workflow that keeps its test runs records one. What was inferred is marked so in the history.
    """
    current = state.current
    number = state.current_task if current == state.rules.tasks.phase else None
    is_phase = "red" in state.rules.order
    part = current if is_phase else state.part(state.task(number)) if number else ""
    if "test_state" not in state.data and number is None:
        return
    if tests.passed and part == "green" and not is_never_red(state) and not _was_red(state, number):
        state.note("never_red", note=NEVER_RED, inferred=True)
    _record_run(state, tests, number, inferred=True)
    if is_phase and part in state.phases:
        _write_phase(state, part, tests, inferred=True)


def is_never_red(state: State) -> bool:
    """Return whether the history says since the last RED that no test failed in it."""
    return any(each.get("event") == "never_red" for each in _since_red(state))


def _record_run(state: State, tests: Tests, task: int | None, **marks: Any) -> None:
    """Record a test run in `test_state`, with the task it is for; nothing changes if it came out like the last one."""
    before = state.test_state
    wanted = {
        "test_command": tests.command or before.get("test_command"),
        "last_result": tests.result,
        "failing_tests": list(tests.failing) or ([tests.name] if tests.name and tests.reason else []),
        "passing_tests": list(tests.passing),
        **({} if task is None else {"task": task}),
    }
    if before.get("last_run") and all(before.get(key) == value for key, value in wanted.items()):
        return
    order = dict.fromkeys(("test_command", "last_run", "last_result"))
    state.data["test_state"] = {**order, **before, **wanted, "last_run": state.at}
    state.note("tests_run", result=tests.result, **marks)


def _write_phase(state: State, name: str, tests: Tests, **marks: Any) -> None:
    """Write what is known of the tests into the phase's own fields, and the history's events for it, with `marks`."""
    phase, known = state.phase(name), state.rules.stage(name).fields
    passing = not tests.failing if tests.failing or tests.passing else tests.passed
    values_ = {
        "test_file": tests.file,
        "test_name": tests.name,
        "failure_confirmed": True if tests.reason or tests.failing else None,
        "failure_reason": tests.reason,
        "implementation_file": tests.file,
        "tests_passing": passing,
        "last_error": tests.reason,
    }
    changed = {
        key: value
        for key, value in values_.items()
        if key in known and value not in (None, "") and phase.get(key) != value
    }
    phase |= changed
    if "test_file" in changed:
        state.note("test_written", file=tests.file, **marks)
    if "failure_confirmed" in changed or "failure_reason" in changed:
        state.note("failure_confirmed", reason=tests.reason or None, **marks)


def _go_to_part(state: State, name: str) -> None:
    """Move the task that is in progress to a part of it; parts before it are completed."""
    number, cycle = state.current_task, state.rules.tasks.cycle
    if name not in cycle:
        reason = missing(f"part {name!r}", cycle, where=f"a task of {state.rules.name} has")
        way = "; `holdfast skills task N --done --commit SHA` records a task's commit" if state.rules.has_tasks else ""
        raise TransitionError(f"{reason}{way if name == 'commit' else ''}")
    if number is None:
        raise TransitionError("no task is in progress; `holdfast skills task N --start` begins one")
    moves.start_task(state, number)
    task, at = state.task(number), cycle.index(name)
    wanted = {
        each: "completed" if place < at else "in_progress" if place == at else "pending"
        for place, each in enumerate(cycle)
    }
    if task.get("tdd_phases") != wanted:
        task["tdd_phases"] = {**values.members(task.get("tdd_phases")), **wanted}
        state.note("tdd_phase", task=number, phase=name)


def _was_red(state: State, task: int | None) -> bool:
    """Return whether a failing test was recorded: in the phase RED, or for the task with this number."""
    if any(each.get("event") == "tests_run" and each.get("result") == "failed" for each in _since_red(state)):
        return True
    if task is None:
        return state.phase("red").get("failure_confirmed") is True
    return state.test_state.get("last_result") == "failed" and state.test_state.get("task") == task


def _since_red(state: State) -> list[dict[str, Any]]:
    """Return the events since the last RED or, if that came later, the last task began."""
    history = state.history
    begins = ("phase_started", "tdd_phase")
    begun = [
        at
        for at, each in enumerate(history)
        if each.get("event") == "task_started" or (each.get("event") in begins and each.get("phase") == "red")
    ]
    return history[begun[-1] :] if begun else history


def tests_of(work: Work, patterns: Iterable[str]) -> Tests | None:
    """Return a command's test results; None if it ran no tests, or if their outcome is unclear.

    The runner's summary says it. Without one, the exit code does, unless the line runs more than the tests.

    Args:
        work: the command with its output.
        patterns: the commands that run tests (`fits`).
    """
    commands = [each for each in _commands(work.command[:_COMMAND_LIMIT_CHARS]) if each[0] != "cd"]
    command = next((each for each in commands if any(fits(pattern, each) for pattern in patterns)), None)
    if command is None:
        return None
    text = work.output[-_LIMIT_CHARS:]
    failing, passing = _named(_FAILED, text), _named(_PASSED, text)
    if failing or _COUNT_FAILED.search(text):
        passed = False
    elif _COUNT_PASSED.search(text):
        passed = True
    elif len(commands) == 1:
        passed = not work.failed
    else:
        return None
    reasons = (found[1] for each in _REASONS if (found := each.search(text)))
    reason = "" if passed else next(reasons, "the tests failed")[:_REASON_LIMIT_CHARS]
    return Tests(command=" ".join(command), reason=reason, failing=failing, passing=passing, passed=passed)


def fits(pattern: str, arguments: Sequence[str]) -> bool:
    """Return whether a pattern means a command: a glob for each argument, and a last `*` for any more of them.

    The program is compared without its folder.
    """
    globs = pattern.split()
    words = [arguments[0].rpartition("/")[2], *arguments[1:]] if arguments else []
    if globs and globs[-1] == "*":
        globs = globs[:-1]
        words = words[: len(globs)]
    return bool(globs) and len(globs) == len(words) and all(map(fnmatchcase, words, globs))


def _named(patterns: Iterable[re.Pattern[str]], text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found for each in patterns for found in each.findall(text)))[:_MOST]


def _commands(line: str) -> list[list[str]]:
    """Return the words of each command in a shell line, without redirections and assignments."""
    lexer = shlex.shlex(_REDIRECTION.sub(" ", line), posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    commands: list[list[str]] = [[]]
    try:
        for token in lexer:
            if set(token) <= set(_SEPARATORS):
                commands.append([])
            elif commands[-1] or not _ASSIGNMENT.match(token):
                commands[-1].append(token)
    except ValueError:  # a quote that is open: nobody knows what ran
        return []
    return [each for each in commands if each]
