"""Whatever a person or another program writes into a file of a session, it is read."""

from __future__ import annotations

import random
from typing import Any

from holdfast.formats.wfs import schema
from holdfast.formats.wfs.tree import Task

KEYS = (
    *("id", "title", "status", "meta", "type", "agent", "context", "parent", "depends_on", "focus_paths", "inherited"),
    *("shared_context", "artifacts", "flow_control", "pre_analysis", "implementation_approach", "target_files"),
    *("step", "command", "commands", "path", "priority", "on_error", "progress", "completed_phases", "session_id"),
)
STRICT = schema.Strict(lambda path: False, "WFS-x")


def value(chance: random.Random, depth: int) -> Any:
    """Return a JSON value of keys that the schema knows, at any place."""
    kind = chance.random()
    if depth == 0 or kind < 0.35:
        return chance.choice([None, 1, 2.5, True, "x", "", "IMPL-1", "./a*", [], {}, 10**30])
    if kind < 0.6:
        return [value(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    return members(chance, depth)


def members(chance: random.Random, depth: int) -> dict[str, Any]:
    """Return a JSON object."""
    return {chance.choice(KEYS): value(chance, depth - 1) for _ in range(chance.randint(0, 8))}


def test_any_object_is_read_and_checked() -> None:
    """Reading raises for nothing, and the check names each value without an error of its own."""
    for seed in range(2_000):
        data = members(random.Random(seed), 5)
        task = Task.read("IMPL-1", data)
        assert task.id and task.title
        assert all(isinstance(each, str) for step in task.flow.pre_analysis for each in step.commands)
        assert all(isinstance(each, str) for each in (*task.depends_on, *task.context.requirements))
        schema.read(schema.SessionFile, data)
        for model in (schema.TaskFile, schema.SessionFile):
            assert all(each.problem and each.remedy for each in schema.faults(model, data, STRICT))


def test_other_forms_of_a_value_are_understood() -> None:
    """A text in place of a list, several commands, an approach that is a list, and numbers in place of texts."""
    data = {
        "id": "IMPL-1",
        "title": 7,
        "context": {"requirements": "JWT", "depends_on": ["IMPL-2", " "], "inherited": ["Python"]},
        "flow_control": {
            "pre_analysis": [{"step": "look", "commands": ["ls", "rg"]}],
            "implementation_approach": ["a"],
        },
    }
    task = Task.read("IMPL-1", data)
    assert (task.title, task.depends_on) == ("7", ("IMPL-2",))
    assert (task.context.requirements, task.context.handed_down) == (["JWT"], ("Python",))
    assert task.flow.pre_analysis[0].commands == ("ls", "rg")
    assert task.flow.implementation_approach.modification_points == ["a"]
