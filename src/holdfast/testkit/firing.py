"""Fire one event at handler files for real, and leave nothing of it in Holdfast's state."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from contextlib import chdir, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import claude
from holdfast.dispatch import notices, strict
from holdfast.dispatch.reply import conclude
from holdfast.dispatch.run import Run
from holdfast.errors import StateError
from holdfast.files import document, trust
from holdfast.plugins import deadlines, discovery, index, kinds, loader, scan
from holdfast.plugins.context import Context
from holdfast.project import OpenProject
from holdfast.testkit import place, reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.dispatch.calls import Answer
    from holdfast.dispatch.client import Event
    from holdfast.dispatch.notices import Notice
    from holdfast.dispatch.reply import Conclusion
    from holdfast.plugins.discovery import HandlerFile, Place
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

SESSION = "00000000-0000-4000-8000-00000000074f"
"""The id of the session that a trial belongs to."""
_REFUSALS = ("deny", "block", "force_turn", "stop")


@dataclass(frozen=True)
class Fired:
    """The result of one event.

    Attributes:
        event: the event.
        plan: the calls, in the order in which their answers are merged.
        answers: their answers, in running order; a strict handler that judged again has several.
        conclusion: the reply, and what was decided.
        notices: what there is to say of the handlers: what failed, was printed or dropped.
    """

    event: Event
    plan: Sequence[Call]
    answers: Sequence[Answer]
    conclusion: Conclusion
    notices: Sequence[Notice]

    @property
    def faults(self) -> list[str]:
        """`label: what went wrong` for each call that failed."""
        return [f"{each.label}: {each.fault}" for each in self.answers if each.fault]

    @property
    def in_background(self) -> set[str]:
        """The labels of the calls that a session makes in the background."""
        return {call.label for call in self.plan if call.route.background}

    @property
    def verdict(self) -> str:
        """`broken` if a handler failed, `refused` if what the event is about is refused or held up, else `neutral`."""
        if self.faults:
            return "broken"
        return "refused" if any(each.kind in _REFUSALS for _, each in self.conclusion.merged) else "neutral"

    @property
    def words(self) -> str:
        """The answer in words: what failed, and the outcomes that count."""
        return "; ".join([*self.faults, words([outcome for _, outcome in self.conclusion.merged])])

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """What was decided and doesn't count: the `handler`, the `outcome`, and why it was `dropped`."""
        return [row for row in self.conclusion.decisions if row["dropped"]]

    @property
    def remarks(self) -> list[Notice]:
        """What was printed, or answered over another handler."""
        return [notice for notice in self.notices if notice.level == "warning"]

    def same(self, other: Fired) -> bool:
        """Return whether another result is the same answer."""
        return (self.conclusion.reply, self.faults) == (other.conclusion.reply, other.faults)

    def audiences(self) -> dict[str, str]:
        """Return the texts for the `model`, the `user` and the `client`; an audience without one is left out."""
        return reply.audiences(self.event.hook_event_name, self.conclusion.reply)


def words(returned: Sequence[Outcome]) -> str:
    """Return outcomes in words, such as `deny: no secrets`; `nothing` if there are none."""
    return "; ".join(each.kind + (f": {each.text}" if each.text else "") for each in returned) or "nothing"


def fire(
    project: OpenProject,
    plan: Sequence[Call],
    event: Event,
    environ: Mapping[str, str],
    timeout: float | None = None,
    deadline: float | None = None,
    *,
    isolate: bool = True,
    deliver: bool = False,
) -> Fired:
    """Make the planned calls of an event and merge their answers.

    Args:
        project: the event's project.
        plan: the calls.
        event: the event.
        environ: the hook's environment.
        timeout: seconds that a handler may take; by default as configured.
        deadline: `time.monotonic()` by which all must have ended; by default as in a session.
        isolate: whether handlers run in processes of their own, as in a session.
        deliver: whether `on_delivered` of outcomes is called.
    """
    limits = project.config.handlers
    if deadline is None:
        hook, timeouts = claude.EVENTS[event.hook_event_name], [call.route.timeout for call in plan]
        deadline = time.monotonic() + deadlines.of_event(hook, limits.deadline, filter(None, timeouts))
    usual_s = limits.timeout if timeout is None else timeout
    with Run(claude, event, Context(project, environ), usual_s, deadline, isolate=isolate) as run:
        answers = run.answers(plan)
        answers += strict.recheck(claude, run.call_again, event, plan, answers)
        conclusion = conclude(claude, event, plan, answers)
        if deliver:
            run.deliver(conclusion.delivered)
    return Fired(event, plan, answers, conclusion, notices.of_answers(plan, answers, run.printed))


def send(project: OpenProject, payload: Mapping[str, Any], files: Sequence[HandlerFile]) -> Fired:
    """Fire a payload at handler files as a session does (`fire`), then at those that run in the background.

    Raises EventError for a payload that is no event.
    """
    event = claude.parse(payload)
    plan = loader.plan(claude, files, event.hook_event_name, claude.matcher_value(event))
    environ = {**os.environ, "CLAUDECODE": "1", claude.ROOT_VARIABLE: str(project.root)}
    first, aside = ([call for call in plan if call.route.background is which] for which in (False, True))
    with chdir(project.root), _environment(environ):
        fired = fire(project, first, event, environ)
        if not aside:
            return fired
        later = fire(project, aside, event, environ)
    answers = [*fired.answers, *later.answers]
    plan = [*first, *aside]
    notes = [*fired.notices, *later.notices]
    return Fired(event, plan, answers, conclude(claude, event, plan, answers), notes)


def alone(
    path: Path, source: bytes | None = None, place: Place = "user", helpers: Mapping[str, bytes] | None = None
) -> HandlerFile:
    """Return a handler file from anywhere as if it were yours, and trusted.

    Args:
        path: its path.
        source: its content, if that isn't the file's present one.
        place: whose it counts as.
        helpers: the helpers that it may import, by name; by default those in its folder.

    Raises:
        StateError: it can't be read, or is too large.
    """
    if source is None:
        source, _ = document.read(path, index.SIZE_LIMIT_BYTES)
    content = index.Content(source, trust.digest(source), kinds.declares(path.name, source, claude))
    if helpers is None:
        folder = index.read_folder(path.parent, claude)
    else:
        read = {name: (data, trust.digest(data), scan.scan_helper(data)) for name, data in helpers.items()}
        folder = index.Folder(path.parent, helpers={name: index.Content(*each) for name, each in read.items()})
    return discovery.of_content(place, path, content, discovery.imported(folder, content.scan))


def named(paths: Sequence[Path]) -> list[Path]:
    """Return the handler files that paths name: a file itself, and those of a folder or of its `.claude/handlers`.

    Raises:
        StateError: nothing is there, or a folder has no handler.
    """
    found: list[Path] = []
    for path in paths:
        inner = path / ".claude" / "handlers"
        folder = inner if inner.is_dir() else path
        files = sorted(filter(kinds.is_handler, folder.iterdir())) if path.is_dir() else [path]
        if not files or not path.exists():
            raise StateError(path, "isn't there" if files else "holds no handler; name a handler file or its folder")
        found += files
    return found


@contextmanager
def own_state(project: OpenProject) -> Iterator[None]:
    """Meanwhile, keep Holdfast's state in a folder that is removed afterwards. It begins with a copy of the ledger."""
    before = project.ledger_file
    with tempfile.TemporaryDirectory(prefix="holdfast-", ignore_cleanup_errors=True) as folder:
        project.close()
        with _environment({**os.environ, "XDG_STATE_HOME": folder}):
            if before.is_file():
                project.ledger_file.parent.mkdir(parents=True, mode=0o700)
                with (
                    suppress(sqlite3.Error),
                    closing(sqlite3.connect(f"{before.as_uri()}?mode=ro", uri=True)) as theirs,
                    closing(sqlite3.connect(project.ledger_file)) as ours,
                ):
                    theirs.backup(ours)
            try:
                yield
            finally:
                project.close()


@contextmanager
def own_home() -> Iterator[OpenProject]:
    """Yield an empty project. Meanwhile, HOME is an empty folder too; both are removed afterwards."""
    with place.opened() as made:
        variables = {name: each for name, each in os.environ.items() if not name.startswith(("XDG_", "CLAUDE"))}
        with _environment({**variables, "HOME": str(made.home)}):
            project = OpenProject.open(made.root, client=claude)
            yield project
            project.close()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
