"""The contract of every format, with records in memory and in the ledger; a new format is included automatically."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock, formats
from holdfast.config import Config
from holdfast.errors import HoldfastError, SchemaMismatch, StateError, TransitionError
from holdfast.files import lock
from holdfast.formats import RECORDS
from holdfast.sessions import archive, contents, erasure, phases
from holdfast.sessions.erasure import Scope
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import guidance, places, registry, search, verbs
from holdfast.workflow.model import Changes, Start
from tests import brought, described
from tests.formats.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.formats.record import Record
    from holdfast.workflow.format import Format
    from holdfast.workflow.model import Status, Workflow

ME = "11111111-1111-4111-8111-111111111111"
UNITS = ("Plan it", "Build it", "Test it")
BROKEN = b'{"id": "wf_1", "workflow": "Ship\xff'
OTHERS = '{\n   "name": "CI", "on": "push", "jobs": {"test": {"steps": []}}\n}'


@dataclass
class Kit:
    """A format with a project to try it in."""

    name: str
    project: Memory | Workspace

    @property
    def record(self) -> Record:
        return RECORDS[self.name]

    @property
    def adapter(self) -> Format:
        return registry.get(self.name)

    @property
    def agents(self) -> Format:
        return registry.get(self.name)

    @property
    def root(self) -> Path:
        return self.project.root

    def start(self, title: str = "Ship", **more: Any) -> Workflow:
        """Start a workflow of three units."""
        return verbs.start(self.project, self.name, Start(title, phases=tuple((each, "") for each in UNITS), **more))

    def begun(self) -> Workflow:
        """Start one and begin its first unit."""
        return verbs.begin(self.project, self.start())

    def only(self) -> Workflow:
        """Return the one workflow there is."""
        (workflow,) = self.adapter.find(self.project).workflows
        return workflow

    @property
    def is_json(self) -> bool:
        """Whether it stands on `statefile`, which reads the last good content of a broken file."""
        return self.record.STATES[0].endswith(".json")

    def stop(self, workflow: Workflow, why: str) -> Workflow:
        """Let the current unit fail; where there is no such status, block it."""
        statuses: tuple[Status, ...] = ("failed", "blocked")
        for status in statuses:
            with suppress(TransitionError):
                return verbs.update(self.project, workflow, Changes(status=status, error=why))
        return pytest.skip("its units are open or done")

    def update(self, workflow: Workflow, **changes: Any) -> Workflow:
        """Change what a workflow keeps beside its units; the test is over where it keeps nothing."""
        try:
            return verbs.update(self.project, workflow, Changes(**changes))
        except TransitionError as refused:
            return pytest.skip(str(refused))

    def done(self, workflow: Workflow, note: str = "") -> Workflow:
        """Complete the current unit, with a note where it keeps any."""
        with suppress(TransitionError):
            return verbs.done(self.project, workflow, note=note)
        return verbs.done(self.project, workflow)

    def files(self) -> dict[Path, tuple[bytes, int]]:
        """Return what every file of the project holds, and when it was written."""
        found = (path for path in self.root.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}

    def place(self) -> Path:
        """Return a path that a state file may have."""
        return self.root / self.record.STATES[0].replace("*", "x")


def on_ledger(root: Path) -> Workspace:
    return Workspace.open(root)


def in_memory(root: Path) -> Memory:
    return Memory(root.resolve(), Config())


@pytest.fixture(params=(in_memory, on_ledger), ids=("memory", "ledger"))
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory | Workspace]:
    """An empty project with either records."""
    (tmp_path / "project").mkdir()
    opened: Memory | Workspace = request.param(tmp_path / "project")
    yield opened
    if isinstance(opened, Workspace):
        opened.close()


@pytest.fixture(params=[*formats.NAMES, brought.NAME, *described.NAMES])
def kit(
    request: pytest.FixtureRequest, project: Memory | Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kit:
    """Each format there is, the one that the example package brings, and those without code, with either records."""
    if request.param == brought.NAME:
        brought.lay(tmp_path / "site")
        brought.install(tmp_path / "site", monkeypatch)
    if request.param in described.NAMES:
        described.use(project.root, request.param)
        request.addfinalizer(described.forget)
    return Kit(request.param, project)


def statuses(workflow: Workflow) -> list[str]:
    return [phase.status for phase in workflow.phases]


def completed(workflow: Workflow) -> int:
    return statuses(workflow).count("completed")


def test_nothing_is_found_where_nothing_is(kit: Kit) -> None:
    """Looking makes no file."""
    assert kit.adapter.find(kit.project) == kit.adapter.candidates(kit.project, ())
    assert kit.adapter.find(kit.project).workflows == ()
    assert kit.files() == {}


def test_what_is_started_is_found_again(kit: Kit) -> None:
    """By looking for all, by its key, by its place alone, and in its bytes."""
    made = kit.start()

    found = kit.only()
    assert (made.key, made.raw, statuses(made)) == (found.key, found.raw, statuses(found))
    assert (found.format, found.title, found.total, found.finished) == (kit.name, "Ship", len(UNITS), False)
    assert [each.title for each in found.phases] == list(UNITS)
    assert found.raw == found.path.read_bytes()
    for key in (found.key, found.key.rpartition("#")[0] + "#"):
        assert [each.key for each in kit.adapter.candidates(kit.project, {key}).workflows] == [found.key]
    assert kit.adapter.parsed(kit.project, found.path, found.raw).title == "Ship"
    assert [each.key for each in registry.candidates(kit.project, ME).workflows] == [found.key]


def test_what_it_is_given_at_its_start_is_kept_or_refused(kit: Kit) -> None:
    """Nothing that was asked for is lost without a word."""
    given: dict[str, Any] = {"reading": ("a.md",), "reminders": ("Test",), "context": {"page": "7"}}
    try:
        kit.start(**given)
    except TransitionError:
        return
    found = kit.only()
    assert (found.reading, found.reminders, found.context["page"]) == (("@a.md",), ("Test",), "7")


def test_phases_that_are_not_named_are_counted_or_refused(kit: Kit) -> None:
    """A format that lists each of its units has no others, and then nothing is started."""
    try:
        made = kit.start(total=len(UNITS) + 2)
    except TransitionError as refused:
        assert "--phase" in str(refused)
        assert kit.files() == {}
        return
    assert made.total == len(UNITS) + 2


def test_it_lies_where_the_record_says(kit: Kit) -> None:
    """What others ask of a path they ask of the record."""
    found = kit.start()

    assert any((kit.root / path).exists() for path in kit.record.PRESENCE)
    assert found.path.is_relative_to(kit.root / kit.record.TOP)
    assert places.is_state(kit.root, found.path)
    assert found.unit == kit.record.UNIT


def test_a_start_without_a_title_is_refused(kit: Kit) -> None:
    """And leaves nothing."""
    with pytest.raises(HoldfastError):
        kit.start("  ")

    assert kit.adapter.find(kit.project).workflows == ()


def test_an_unfinished_workflow_of_that_name_gives_way_on_purpose_only(kit: Kit) -> None:
    """What it was is in the archive, or its file is there still."""
    before = kit.begun()
    with pytest.raises(TransitionError, match="replace"):
        kit.start()
    assert kit.only().raw == before.raw

    after = kit.start(replace=True)

    there = [(each.key, statuses(each)) for each in (*shelved(kit), *kit.adapter.find(kit.project).workflows)]
    assert (after.key, statuses(after)) in there
    assert (before.key, statuses(before)) in there


def shelved(kit: Kit) -> list[Workflow]:
    """Return the workflows in the archive."""
    if isinstance(kit.project, Memory):
        return list(kit.project.archived.values())
    return [each.workflow for each in archive.entries(kit.project)]


def test_git_ignores_what_no_team_shares(kit: Kit) -> None:
    """SHARED says what a team may commit; if that is not the whole folder, git is told so with the first file."""
    kit.start()

    ignored = (kit.root / kit.record.TOP / ".gitignore").exists()

    assert ignored == (kit.record.SHARED != kit.record.TOP), "write with `statefile.write` or `statefile.put`"


def test_verbs_move_it_to_its_end(kit: Kit) -> None:
    """One unit after the other; what a unit leaves is in the next one's prompt or in its own place."""
    now = kit.begun()
    for number, title in enumerate(UNITS):
        step = verbs.step(now)
        assert step is not None
        assert (step.number, step.title, completed(now)) == (number + 1, title, number)
        assert now.phases[number].status == "active"
        now = kit.done(now, f"note {number}")

    assert now.finished
    assert verbs.step(now) is None
    assert not [each for each in kit.adapter.find(kit.project).workflows if each.resumable]


def test_everything_is_done_at_once_and_stays_done(kit: Kit) -> None:
    """A finished workflow is moved by no verb."""
    now = verbs.done(kit.project, kit.begun(), everything=True)
    before = kit.files()

    assert now.finished
    with pytest.raises(HoldfastError):
        verbs.done(kit.project, now)
    assert kit.files() == before


def test_what_follows_a_finished_workflow_is_another_one(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even at the same path with the same title: its key differs, and the archive has the finished one."""
    first = verbs.done(kit.project, kit.begun(), everything=True)
    monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(minutes=1)))

    second = kit.start()

    assert second.key != first.key, "give each workflow an id of its own, or a file of its own"
    if isinstance(kit.project, Workspace):
        assert first.key in {each.key for each in shelved(kit)}, "tell `project.observe` what moved"


def test_two_who_saw_the_same_unit_complete_it_once(kit: Kit) -> None:
    """The second one changes nothing."""
    seen = kit.begun()
    verbs.done(kit.project, seen)
    before = kit.files()

    verbs.done(kit.project, seen)

    assert completed(kit.only()) == 1
    assert kit.files() == before


def test_beginning_what_is_begun_writes_nothing(kit: Kit) -> None:
    """Unchanged content is not rewritten."""
    seen, before = kit.begun(), kit.files()

    assert statuses(verbs.begin(kit.project, seen)) == ["active", "pending", "pending"]
    assert kit.files() == before


def test_an_update_adds_and_keeps(kit: Kit) -> None:
    """Lists and context grow; nothing moves."""
    kit.update(kit.begun(), reminders=("One",), reading=("a.md",), context={"k": "v"})
    kit.update(kit.only(), reminders=("Two",), context={"l": "w"})

    now = kit.only()
    assert (now.reminders, now.reading) == (("One", "Two"), ("@a.md",))
    assert (now.context["k"], now.context["l"]) == ("v", "w")
    assert statuses(now) == ["active", "pending", "pending"]


def test_what_failed_is_retried_and_completed(kit: Kit) -> None:
    """The failure is remembered, the workflow goes on where it stopped."""
    stopped = kit.stop(kit.begun(), "No network")

    assert not stopped.finished
    assert stopped.phases[0].status in ("failed", "blocked")
    assert errors(kit, stopped) == ["No network"]
    again = verbs.update(kit.project, kit.only(), Changes(current=1, status="active"))
    assert statuses(again) == ["active", "pending", "pending"]
    assert completed(verbs.done(kit.project, again)) == 1


def errors(kit: Kit, workflow: Workflow) -> list[str]:
    """Return what is remembered of its failures."""
    if isinstance(kit.project, Memory):
        return kit.project.errors[workflow.key]
    return [each.error for each in phases.of(kit.project, workflow).phases.values() if each.error]


def with_agents(kit: Kit) -> Format:
    """Return the adapter; the test is over where agents work on none of its units."""
    if not kit.record.AGENTS:
        pytest.skip("agents work on none of its units")
    return kit.agents


def test_agents_move_it(kit: Kit) -> None:
    """Active at the launch, completed at the result, in whatever order the results come."""
    adapter, seen = with_agents(kit), kit.start()
    first, second, third = (each.id for each in seen.phases)
    for unit, status, expected in (
        (first, "active", ["active", "pending", "pending"]),
        (first, "completed", ["completed"]),
        (second, "completed", ["completed", "completed"]),
        (third, "active", ["completed", "completed", "active"]),
    ):
        judged = adapter.judge(kit.project, kit.only(), unit, status, "It is done.")  # type: ignore[arg-type]
        assert judged.changed or unit == third
        assert statuses(kit.only())[: len(expected)] == expected
    before = kit.files()

    for unit, status in ((first, "active"), (first, "completed"), (third, "active")):
        assert not adapter.judge(kit.project, kit.only(), unit, status, "Again.").changed  # type: ignore[arg-type]
    assert kit.files() == before, "a hook undoes no completion, and writes nothing twice"


def test_an_agent_that_failed_stops_its_unit(kit: Kit) -> None:
    """Its words are remembered; a later unit does not begin. Another one may complete it."""
    adapter, seen = with_agents(kit), kit.begun()

    now = adapter.judge(kit.project, seen, seen.phases[0].id, "failed", "No disk").workflow

    assert now.phases[0].status in ("failed", "blocked")
    assert not now.finished
    assert errors(kit, now) == ["No disk"]
    assert verbs.undoing(now, now.phases[0]).startswith("holdfast ")
    later = adapter.judge(kit.project, kit.only(), seen.phases[0].id, "completed", "It is done.").workflow
    stopped = kit.name in ("hybrid", "skills")  # only a person goes on there
    assert later.phases[0].status == (now.phases[0].status if stopped else "completed")


def test_only_its_id_or_whole_title_names_a_unit(kit: Kit) -> None:
    """A mention is no evidence."""
    adapter, now = with_agents(kit), kit.begun()
    first = now.phases[0]

    assert adapter.match_phase(now, f"{first.title}\n\nDo it.", "") == first
    assert adapter.match_phase(now, f"{first.id}\n\nDo it.", "") == first
    assert adapter.match_phase(now, f"Look around\n\nAs for {first.title}, wait.", "") is None
    assert first.id in {each.id for each in (*verbs.ready(now), first)}
    brief = adapter.brief(kit.project, now, first)
    assert brief is None or first.title in "\n".join(brief.lines)


def test_a_hand_is_followed_and_its_layout_kept(kit: Kit) -> None:
    """Who edits a state file finds what they wrote, in their layout, and their own keys stay."""
    started = kit.begun()
    path = next(each for each in states(kit) if b"Build it" in each.read_bytes())
    edited = path.read_bytes().replace(b"Build it", b"Make it")
    if kit.is_json:
        edited = json.dumps({"mine": {"kept": [1.50, None]}, **json.loads(edited)}, indent=3).encode()
    else:
        edited = b"A line of a person's own, which is left as  it is.\n\n" + edited
    path.write_bytes(edited)

    assert kit.adapter.written(kit.project, started, path, why="Edit") is not None
    assert kit.adapter.written(kit.project, started, kit.root / "other.json", why="Edit") is None
    assert kit.only().phases[1].title == "Make it"
    now = verbs.done(kit.project, kit.only())
    assert (now.phases[1].title, now.phases[1].status) == ("Make it", "active")
    assert path.read_bytes()[:40] == edited[:40]
    assert edited in [kit.project.content(path, each.number) for each in kit.project.versions(path)]


def states(kit: Kit) -> list[Path]:
    return [path for pattern in kit.record.STATES for path in kit.root.glob(pattern)]


def test_every_content_is_kept_and_can_be_put_back(kit: Kit) -> None:
    """With all that follows from it; a second time changes nothing."""
    first = kit.start()
    now = kit.update(first, reminders=("One",))
    for path in states(kit):
        assert kit.project.latest(path, search.LIMIT_BYTES) == path.read_bytes()

    back = kit.adapter.restore(kit.project, first.path, first.raw, why="log restore", replace=False)

    assert back.changed == (now.raw != first.raw)
    assert first.path.read_bytes() == first.raw == kit.only().raw
    assert kit.adapter.restore(kit.project, first.path, first.raw, why="log restore", replace=False).changed is False


def test_a_restore_loses_nothing_where_nothing_is_remembered(kit: Kit) -> None:
    """What the file held lies beside it then."""
    first = kit.start()
    now = verbs.done(kit.project, verbs.begin(kit.project, first))
    if not isinstance(kit.project, Memory):
        pytest.skip("the ledger remembers")
    if not now.path.exists() or now.raw == first.raw:
        pytest.skip("its progress is kept elsewhere")
    kit.project = Forgetful(kit.root, Config())

    back = kit.adapter.restore(kit.project, first.path, first.raw, why="log restore", replace=False)

    assert back.aside is not None, "copy it with `statefile.keep_aside`"
    assert back.aside.read_bytes() == now.raw


class Forgetful(Memory):
    """Remembers nothing, as a project without a usable ledger."""

    def keep(self, path: Path, raw: bytes, *, why: str) -> bool:
        return False


def test_where_nothing_is_remembered_the_next_run_leaves_the_content_of_the_one_before(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its file, in the format's archive or beside it."""
    if not isinstance(kit.project, Memory):
        pytest.skip("the ledger remembers")
    kit.project = Forgetful(kit.root, Config())
    first = verbs.done(kit.project, kit.begun(), everything=True)
    for minutes in (1, 2):
        monkeypatch.setenv("HOLDFAST_NOW", clock.stamp(clock.now() + timedelta(minutes=minutes)))
        verbs.done(kit.project, verbs.begin(kit.project, kit.start()), everything=True)

    assert first.raw in [raw for raw, _ in kit.files().values()], "copy it with `statefile.keep_aside`"


def test_an_earlier_content_takes_the_place_of_another_only_on_purpose(kit: Kit) -> None:
    """An unfinished workflow gives way with `replace`; what another program wrote stays or is kept."""
    first, path = kit.begun(), kit.start("Another", replace=True).path
    there = path.read_bytes()
    if path == first.path:
        with pytest.raises(TransitionError, match="already exists"):
            kit.adapter.restore(kit.project, path, first.raw, why="log restore", replace=False)
        assert path.read_bytes() == there
        kit.adapter.restore(kit.project, path, first.raw, why="log restore", replace=True)
        assert path.read_bytes() == first.raw

    first.path.write_text(OTHERS)
    with suppress(SchemaMismatch):  # it may give way if it was put into the place of a workflow's file
        kit.adapter.restore(kit.project, first.path, first.raw, why="log restore", replace=True)
    kept = [kit.project.content(first.path, each.number) for each in kit.project.versions(first.path)]
    assert OTHERS.encode() in (first.path.read_bytes(), *kept)


def test_a_broken_file_reads_as_its_last_content(kit: Kit) -> None:
    """Reading touches nothing; who moves it sets the broken file aside."""
    good = kit.begun()
    good.path.write_bytes(BROKEN)
    before = kit.files()

    found = kit.adapter.find(kit.project)
    assert [each.path for each in found.problems] == [good.path]
    assert [(each.recovered, statuses(each)) for each in found.workflows] == [(True, statuses(good))] * kit.is_json
    assert kit.files() == before

    for recovered in found.workflows:
        assert statuses(kit.done(recovered)) == ["completed", "active", "pending"]
        assert [each.read_bytes() for each in good.path.parent.glob("*.corrupt-*")] == [BROKEN]


def test_a_broken_file_that_nobody_knows_is_a_problem(kit: Kit) -> None:
    """It is no workflow, and it stays as it is."""
    path = kit.place()
    path.parent.mkdir(parents=True)
    path.write_bytes(BROKEN)
    before = kit.files()

    found = kit.adapter.find(kit.project)

    assert [each.path for each in found.problems] == [path]
    assert found.workflows == ()
    with pytest.raises(StateError):
        kit.adapter.parsed(kit.project, path, path.read_bytes())
    assert kit.files() == before


def test_a_foreign_file_stays_as_it_is(kit: Kit) -> None:
    """Another program's file is no workflow of ours, whatever is done beside it."""
    path = kit.place()
    path.parent.mkdir(parents=True)
    path.write_text(OTHERS)

    assert kit.adapter.find(kit.project).workflows == ()
    assert kit.adapter.candidates(kit.project, {f"{kit.name}:{path.relative_to(kit.root)}#"}).workflows == ()
    with pytest.raises(SchemaMismatch):
        kit.adapter.parsed(kit.project, path, path.read_bytes())
    assert all(each.path.exists() for each in registry.foreign(kit.project, kit.name))
    with suppress(HoldfastError):  # it may be in the way
        verbs.done(kit.project, kit.start(), everything=True)
    assert path.read_text() == OTHERS


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_no_link_is_followed_out_of_the_project(kit: Kit, tmp_path: Path, linked: str) -> None:
    """Nothing is read or written through it."""
    made = kit.begun()
    link = kit.root / kit.record.TOP if linked == "folder" else made.path
    target = tmp_path / "elsewhere"
    link.rename(target)
    link.symlink_to(target)
    there = sorted(target.rglob("*")), made.path.read_bytes()

    with pytest.raises(HoldfastError):
        verbs.done(kit.project, made)
    if linked == "folder":
        with pytest.raises(HoldfastError):
            kit.start("Another")
    assert all(each.recovered for each in kit.adapter.find(kit.project).workflows)
    assert (sorted(target.rglob("*")), made.path.read_bytes()) == there


def test_a_huge_file_is_not_read(kit: Kit) -> None:
    """What was known of it is shown; it stays as it is."""
    made = kit.begun()
    made.path.write_bytes(made.raw + b" " * search.LIMIT_BYTES)
    before = kit.files()

    found = kit.adapter.find(kit.project)

    assert [each.path for each in found.problems] == [made.path]
    assert "large" in found.problems[0].reason
    assert [each.recovered for each in found.workflows] == [True] * kit.is_json
    assert kit.files() == before
    with pytest.raises(StateError):
        verbs.done(kit.project, made)
    assert made.path.read_bytes() == before[made.path][0]


def test_of_many_workflows_each_is_found_by_its_key(kit: Kit) -> None:
    """Where a format keeps several; of one alone the newest is there."""
    try:
        keys = [kit.start(f"Part {number}").key for number in range(4)]
    except TransitionError:
        keys = [kit.only().key]

    assert {each.key for each in kit.adapter.find(kit.project).workflows} == set(keys)
    for key in keys:
        assert key in {each.key for each in kit.adapter.candidates(kit.project, {key}).workflows}


def test_work_grows_with_the_units_and_not_with_their_square(kit: Kit) -> None:
    """Reading and moving a workflow of 400 units takes at most eight times the calls that 80 units take."""
    few, many = (_calls_to_move(kit, units) for units in (80, 400))

    assert many <= 8 * few


def _calls_to_move(kit: Kit, units: int) -> int:
    """Return how many functions are called to find a new workflow of so many units and complete its first one."""
    named = tuple((f"step-{number:04}-zx9", "") for number in range(units))
    key = verbs.begin(kit.project, verbs.start(kit.project, kit.name, Start("Long", phases=named, replace=True))).key
    calls = 0

    def count_call(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count_call)
    try:
        found = next(each for each in kit.adapter.find(kit.project).workflows if each.key == key)
        assert completed(verbs.done(kit.project, found)) == 1
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(("writers", "at_once"), [(8, 8), pytest.param(200, 20, marks=pytest.mark.nightly)])
def test_many_processes_at_once_lose_nothing(
    kit: Kit, writers: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each adds a reminder; all arrive, and whoever reads meanwhile reads a whole file."""
    # The clock by which a process gives up waiting for its turn stands still: a busy machine may take minutes.
    monkeypatch.setattr(lock, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=time.sleep))
    made = kit.update(kit.start(), reminders=("reminder",))
    opening = on_ledger if isinstance(kit.project, Workspace) else in_memory
    if isinstance(kit.project, Workspace):
        kit.project.close()  # no connection goes through a fork
    for number in range(writers + at_once):
        if number >= at_once:
            assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        if number < writers:
            _fork(Kit(kit.name, kit.project), opening, f"reminder {number}")
        assert kit.adapter.parsed(kit.project, made.path, made.path.read_bytes()).title == made.title

    now = Kit(kit.name, opening(kit.root)).only()
    assert sorted(now.reminders) == ["reminder", *sorted(f"reminder {number}" for number in range(writers))]
    assert (statuses(now), now.warnings) == (statuses(made), ())
    assert not list(kit.root.rglob("*.tmp"))


def _fork(kit: Kit, opening: Callable[[Path], Memory | Workspace], reminder: str) -> None:
    """Start a process that updates the workflow once, with records of its own."""
    if os.fork():
        return
    code = 1
    try:
        kit.project = opening(kit.root)
        verbs.update(kit.project, kit.only(), Changes(reminders=(reminder,)))
        code = 0
    finally:
        os._exit(code)


def test_its_files_alone_are_the_truth(kit: Kit) -> None:
    """Where all is forgotten that was remembered, the workflow is found as it is, and goes on."""
    made = kit.begun()
    if isinstance(kit.project, Workspace):
        forgotten = erasure.forget(kit.project, Scope(workflow=made, worktree=kit.project.worktree))
        assert forgotten.clean
        assert contents.list_versions(kit.project, made.path) == []
    else:
        kit.project = in_memory(kit.root)

    assert statuses(kit.only()) == statuses(made)
    assert completed(verbs.done(kit.project, kit.only())) == 1


def test_its_guidance_says_where_it_is(kit: Kit) -> None:
    """Title, position and next step, in the same bytes for the same state."""
    now = kit.done(kit.begun(), "Use a stack")
    given = guidance.build(now, root=kit.root, sidecar=kit.root / "sidecar.md")

    assert all(each in given.text for each in ("Ship", now.position, UNITS[1], UNITS[2]))
    assert ("Use a stack" in given.sidecar_text) == bool(now.phases[0].handover)
    assert len(given.text) <= guidance.LIMIT_UNITS
    assert given == guidance.build(kit.only(), root=kit.root, sidecar=kit.root / "sidecar.md")
