"""How much work an event is, counted in calls, does not follow from how much a run holds."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files import document, file_memo, jsontext
from holdfast.formats.orchestrator import adapter, check, learnings, run, schema, taskdoc, view
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from tests.requirements.document_003 import Scene

TASKS = 600


class Calls(Counter[str]):
    """Counts calls of functions by name."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.patch = patch

    def of(self, owner: Any, name: str) -> None:
        """Count the calls of a function of a module or class from now on."""
        known = getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            self[name] += 1
            return known(*given, **named)

        self.patch.setattr(owner, name, counted)


@pytest.fixture
def calls(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The calls that are made in a project whose run has many tasks; nothing of it is in memory."""
    scene.doc.write_text(
        "".join(f"#### Task 1.{number}: Piece {number}\nAgent: me\n" for number in range(1, TASKS + 1))
    )
    scene.start()
    view._last.clear()
    statefile._large.clear()
    return Calls(monkeypatch)


def test_a_state_is_looked_through_once_however_often_it_is_read(scene: Scene, calls: Calls) -> None:
    """An event finds the same run for several purposes."""
    calls.of(document, "_object")  # which C would call for each object
    for owner, name in ((document, "parse"), (run.Run, "tasks"), (check, "entry"), (view, "context")):
        calls.of(owner, name)
    for _ in range(4):
        found = adapter.candidates(scene.project, ())

    assert len(found.workflows[0].phases) == TASKS
    assert calls == {"parse": 2, "tasks": 1, "context": 1}, "the state and the notes, once each"


def test_tasks_that_are_as_they_should_be_are_checked_by_their_columns(scene: Scene, calls: Calls) -> None:
    """Not one by one, and a value that many have is looked at once; one that is wrong is named by its entry."""
    data = scene.data
    tests = Counter[str]()
    for key, (fits, words) in check.RULES["pending_tasks"].items():
        if fits is not check._text:
            counted = lambda value, key=key, fits=fits: bool(tests.update([key])) or fits(value)  # noqa: E731
            calls.patch.setitem(check.RULES["pending_tasks"], key, (counted, words))
    calls.of(check, "entry")

    assert list(check.types(data)) == []
    assert (calls["entry"], tests["phase"]) == (0, 1), "all are of one phase"
    odd: tuple[object, ...] = (True, "0", None, [])
    for wrong in odd:
        data["pending_tasks"][7]["phase"] = wrong
        assert list(check.types(data)) == ['"pending_tasks[7].phase" is not a whole number']
    data["pending_tasks"][7] = "7"
    assert list(check.types(data)) == ['"pending_tasks[7]" is not an object']


def test_a_notice_of_another_read_is_not_an_old_one(scene: Scene, calls: Calls) -> None:
    """What is in memory is not told of a state with other bytes, or with other notes."""
    before = adapter.find(scene.project).workflows[0]
    adapter.judge(scene.project, before, "1.2", "active", "")
    active = adapter.find(scene.project).workflows[0]
    scene.do(lambda run: run.note("1.2").update(handover="Use it"))
    noted = adapter.find(scene.project).workflows[0]

    assert [each.phases[1].status for each in (before, active)] == ["pending", "active"]
    assert [each.phases[1].handover for each in (active, noted)] == ["", "Use it"]


def test_the_end_of_an_agent_looks_at_what_changed(scene: Scene, calls: Calls) -> None:
    """The state isn't parsed in Python, tasks aren't built for each question, and parts that stay aren't checked."""
    scene.do(lambda run: [learnings.add(run, "insight", f"Lesson {number}") for number in range(90)])
    workflow = adapter.judge(scene.project, adapter.find(scene.project).workflows[0], "1.20", "active", "").workflow
    for owner, name in ((jsontext, "parse"), (run.Run, "tasks"), (check, "entry"), (document, "parse")):
        calls.of(owner, name)
    calls.of(jsontext, "outline")

    assert adapter.judge(scene.project, workflow, "1.20", "completed", "").changed

    assert calls["tasks"] == 1, "as they are afterwards; before, an event has read them already"
    assert calls["entry"] == 0, "nothing is wrong"
    assert calls["parse"] == 0, "what was written is compared with what was meant, and not looked through again"
    assert calls["outline"] < 20


def test_a_broken_state_has_its_checkpoints_read_once(
    scene: Scene, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each handler of an event looks for the newest one that holds a state, past those that don't."""
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    monkeypatch.setattr(type(scene.project), "latest", lambda *_: None)  # or the last content would be used
    good = scene.path.with_name("checkpoint-001.json")
    for number in range(2, 5):
        scene.path.with_name(f"checkpoint-{number:03}.json").write_text("{")
    scene.put(b"{")
    monkeypatch.setattr(file_memo, "SETTLED_NS", -(10**18))  # as if the files were older than two seconds
    calls.of(document, "load")
    for _ in range(5):
        assert adapter.find(scene.project).workflows[0].recovered
    assert calls["load"] == 4, "three that are broken, and the one that is used"

    good.write_bytes(good.read_bytes().replace(b"Piece 2", b"Piece B"))
    assert adapter.find(scene.project).workflows[0].phases[1].title == "Piece B"
    assert calls["load"] == 5, "that one was changed"


def test_a_learning_is_logged_without_a_parse_of_the_others(scene: Scene, calls: Calls) -> None:
    """They are compared as lines. Only where one is missing, or written otherwise, are they looked into."""
    scene.do(lambda run: [learnings.add(run, "insight", f"Lesson {number}") for number in range(300)])
    log = learnings.path(scene.project)
    calls.of(learnings, "_object")
    scene.do(lambda run: learnings.add(run, "insight", "A new one"))
    assert calls["_object"] == 1, "the first line, which tells whose log it is"
    assert len(log.read_text().splitlines()) == 301

    lines = log.read_text().replace('", "lesson"', '","lesson"').splitlines()
    log.write_text("".join(f"{line}\n" for line in lines if '"Lesson 299"' not in line))
    scene.do(lambda run: learnings.add(run, "insight", "The newest"))
    said = [json.loads(line)["lesson"] for line in log.read_text().splitlines()]
    assert len(said) == 302
    assert said[-3:] == ["A new one", "Lesson 299", "The newest"]


def test_notes_of_a_task_are_found_without_a_copy_of_all(calls: Calls) -> None:
    """Each task asks for its own."""

    class Notes(dict[str, Any]):
        copies = 0

        def __iter__(self) -> Any:
            Notes.copies += 1
            return super().__iter__()

        def keys(self) -> Any:
            Notes.copies += 1
            return super().keys()

    ids = [f"1.{number}" for number in range(TASKS)]
    notes = Notes({each: {"name": "A"} for each in ids})
    pending = [{"task": each, "phase": 0} for each in ids]
    made = run.Run({"orchestrator": {}, "pending_tasks": pending}, {"tasks": notes})

    assert len(made.tasks()) == TASKS
    assert Notes.copies == 0


def test_the_headings_of_a_document_are_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the headings are twice the calls, and twice the comparisons that C makes between them."""

    class Number(int):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Number.compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    known = schema.key

    def key(task: str) -> tuple[int, int, str]:
        phase, number, rest = known(task)
        return Number(phase), Number(number), rest

    monkeypatch.setattr(schema, "key", key)

    def work(headings: int) -> tuple[int, int]:
        made = "### Phase 1: All\n\n" + "".join(
            f"#### Task 1.{number}: Piece\n\nAgent: developer\n\n" for number in range(2, 2 * headings, 2)
        )
        taskdoc.parse("### Phase 1: A\n#### Task 1.1: B\n")
        Number.compared, called = 0, Counter[str]()
        sys.setprofile(lambda frame, event, arg: called.update([event]))
        try:
            taskdoc.parse(made)
        finally:
            sys.setprofile(None)
        return sum(called.values()), Number.compared

    (calls, compared), (twice, twice_compared) = work(400), work(800)

    assert twice < 2.3 * calls
    assert twice_compared < 2.3 * max(compared, 400)
