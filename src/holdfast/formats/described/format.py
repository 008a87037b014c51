"""Formats that a TOML file describes: a JSON file with phases and statuses, read and written by its description."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.errors import SchemaMismatch, TransitionError
from holdfast.formats.described import description as descriptions
from holdfast.formats.described import view
from holdfast.formats.described.draft import DescribedDraft, fresh
from holdfast.workflow import places, statefile
from holdfast.workflow.store import FileFormat
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.formats.described.description import Description
    from holdfast.workflow.model import Changes, Start, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_MAX_SAME = 1000  # files of one title
_TITLE_LIMIT_CHARS = 60  # of a title in a file's name


class DescribedFormat(FileFormat):
    """Reads and writes the files of one described format.

    Attributes:
        rules: its description.
    """

    missing = "is gone"

    def __init__(self, rules: Description) -> None:
        self.name = rules.name
        self.rules = rules

    def files(self, project: Records, *, theirs: bool = False) -> Iterator[Path]:
        """Yield the files that may hold a workflow: none where none may lie, and none that another format keeps.

        With `theirs`, yield those that are left out.
        """
        for pattern in self.rules.files:
            for path in sorted(project.root.glob(pattern)) if "*" in pattern else [project.root / pattern]:
                if self.is_place(project, path) is not theirs:
                    yield path

    def is_place(self, project: Records, path: Path) -> bool:
        """Return whether a path is valid for a state file: its pattern matches, and no other format comes first."""
        keepers = places.keepers(project.root, path)
        return keepers[:1] == [self.name] and not descriptions.misplaced(path.relative_to(project.root).as_posix())

    def check(self, file: StateFile) -> None:
        """Raise SchemaMismatch if a file that was read isn't of this format."""
        view.check(self.rules, file.path, file.data)

    def workflow(self, project: Records, file: StateFile) -> Workflow:
        """Return the workflow in a file."""
        return view.workflow(project, self.rules, file)

    def draft(self, data: dict[str, Any]) -> DescribedDraft:
        """Return a draft of a file's content."""
        return DescribedDraft(self.rules, data)

    def start(self, project: Records, start: Start) -> Workflow:
        """Start a workflow in a file of its own; nothing begins yet. Raises TransitionError for what it can't keep."""
        rules = self.rules
        if not start.phases:
            raise TransitionError(f'{rules.name} needs at least one {rules.units.word}: --phase "TITLE"')
        if start.kind:
            raise TransitionError(f"{rules.name} keeps no type; leave --type out")
        if any(agent for _, agent in start.phases) and not rules.units.agent:
            raise TransitionError(f"{rules.name} keeps no agents; units.agent in {rules.source} would name a field")
        return super().start(project, start)

    def location(self, project: Records, start: Start) -> Path:
        """Return the file that a new workflow gets: named after its title if the first pattern has a wildcard."""
        pattern = self.rules.files[0]
        if "*" not in pattern:
            return project.root / pattern
        folder, slash, last = pattern.rpartition("/")
        slug = re.sub("[^a-z0-9]+", "-", start.title.lower()).strip("-")[:_TITLE_LIMIT_CHARS] or "workflow"
        for name in (slug, *(f"{slug}-{number}" for number in range(2, _MAX_SAME))):
            path = project.root / f"{folder}{slash}{last.replace('*', name, 1).replace('*', '')}"
            if self.is_place(project, path) and not self._is_taken(project, path):
                return path
        raise TransitionError(f"no name is left for {quoted(start.title)} in {pattern}; give it another title")

    def _is_taken(self, project: Records, path: Path) -> bool:
        """Return whether a file stays where it is: another program's, or that of a finished workflow."""
        try:
            before = statefile.present(project, path)
            return before is not None and self.view(project, before).finished
        except SchemaMismatch:
            return True

    def fresh(self, project: Records, path: Path, start: Start, last: Workflow | None) -> dict[str, Any]:
        """Return the content of a new file: what is described and nothing else, and an id that isn't the last one's."""
        rules = self.rules
        data = fresh(rules, start, self.new_id(f"{self.name}_", last))
        if last is not None and last.finished and view.identity(rules, data, path) == last.id:
            text = f"{last.place} holds a finished workflow, which can't be told apart from a new one"
            raise TransitionError(f"{text}; name a field for it with workflow.id in {rules.source}, or move it away")
        return data

    def noted(self, workflow: Workflow, changes: Changes, note: str) -> Changes:
        """Return changes with a note on the current unit: in its field for notes, else in the context."""
        if not self.rules.units.note and self.rules.workflow.context:
            return changes.with_note(workflow, note)
        return changes.with_handover(workflow, note)
