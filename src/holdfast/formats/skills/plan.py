"""What a new workflow is about: its machine, its key, its context and its tasks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import StateError, TransitionError
from holdfast.files import access, document
from holdfast.formats.skills import feature_file, machine, paths, schema
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.model import Start


class Plan(NamedTuple):
    """A workflow to start.

    Attributes:
        rules: its machine.
        key: what it is about, the literal text that its file is named after.
        feature: the feature file that it is about; empty for none.
        context: what is known of it.
        tasks: descriptions of its tasks, each with whether it is completed.
    """

    rules: Machine
    key: str
    feature: str
    context: Mapping[str, Any]
    tasks: tuple[tuple[str, bool], ...]

    def path(self, root: Path) -> Path:
        """Return the state file. Raises TransitionError for a skill's name that is no file name."""
        return paths.active(root) / f"{paths.stem(self.rules.name, self.key)}.json"


def plan(root: Path, start: Start) -> Plan:
    """Return the workflow of a skill to start.

    The type is the skill. The title is a feature file, or a folder of them, of which the first counts (I004-17), or the
    task. A task may have a feature file in its context, which is then the key (R004-06). For a skill whose machine has
    tasks, the given phases are its tasks; by default, they are the boxes of the feature file.

    Raises:
        TransitionError: the skill has no machine and no phases, or doesn't take these.
        ConfigError: the machine's file describes none.
    """
    phases = tuple(title for title, _ in start.phases)
    if not (start.kind or phases):
        raise TransitionError("a skill's workflow needs a type that is a skill, such as dev, or phases of its own")
    rules = _rules(root, start.kind or paths.OTHER, phases)
    features = feature_file.in_folder(root, start.title)
    is_feature = bool(features) or start.title.endswith(".md") or access.is_folder(root / start.title)
    own = () if rules.key in (schema.FEATURE, schema.TASK) else ((rules.key, start.title),)
    named = (*own, (schema.FEATURE if is_feature else schema.TASK, start.title))
    context: dict[str, Any] = {**dict(named if not own or is_feature else own), **start.context}
    if features:
        folder = start.title
        context |= {"folder_mode": True, "folder_path": folder, "folder_features": features}
        context[schema.FEATURE] = f"{folder.rstrip('/')}/{features[0]}"
    elif access.is_folder(root / start.title):
        raise TransitionError(f"{start.title} holds no feature file, which ends in .md")
    feature = values.text(context.get(schema.FEATURE))
    content = feature_file.read(root, feature) if feature else None
    title = rules.title or rules.key
    if content and content.title and title in rules.context:
        context.setdefault(title, content.title)
    tasks: tuple[tuple[str, bool], ...] = ()
    if rules.has_tasks:
        tasks = tuple((each, False) for each in phases) or (content.boxes if content else ())
    return Plan(rules, feature or start.title, feature, context, tasks)


def _rules(root: Path, skill: str, phases: tuple[str, ...]) -> Machine:
    """Return the machine of a new workflow: the skill's, else one made from the phases."""
    paths.stem(skill, "")  # refuses what is no name of a skill
    if not phases:
        return machine.get(root, skill)
    known = machine.known(root, skill)[0]
    if known is not None:
        if not known.has_tasks:
            raise TransitionError(f"the machine of {skill} has its own phases, and no tasks; start it without --phase")
        return known
    if len(set(phases)) < len(phases):
        raise TransitionError("two phases have the same name; give each its own")
    return machine.of_phases(skill, phases)


def moment(path: Path) -> str:
    """Return when a new workflow starts: never the second in which the one before it at this path did."""
    before: dict[str, Any] = {}
    with suppress(StateError):
        before = values.members(document.load(paths.completed_copy(path)).data.get("workflow"))
    return schema.stamp(clock.second_after(values.text(before.get("created_at"))))
