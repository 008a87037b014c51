"""Make commands of a format's verbs: plain functions in `formats/NAME/verbs.py` that know nothing of commands."""

from __future__ import annotations

import inspect
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import click

from holdfast import formats
from holdfast.commands import options, workflow_commands
from holdfast.commands.verb import Json, verb
from holdfast.sessions import selection
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.model import Workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.workflow.format import Answer

_Other = Annotated[
    str | None, "--workflow", {"metavar": "WORKFLOW"}, "Another workflow of this format than the current one."
]


def group(name: str) -> click.Group:
    """Return the group of a format's own commands.

    `VERBS` of its module `verbs` has a function for each command: `{"task add": add, "scratch": scratch}`. The module's
    docstring is the group's help, and `GROUPS` has the help of each inner group by its name. A function takes the
    project and what its annotations say (`commands.verb`), and returns an `Answer`. If its second parameter is a
    `Workflow`, it gets the one that the command is about: the session's own of this format, the only one that is free,
    or the one that is named with `--workflow`.
    """
    module = import_module(formats.module(name, "verbs"))
    top = click.Group(name, help=inspect.getdoc(module))
    inner = {each: click.Group(each, help=text) for each, text in getattr(module, "GROUPS", {}).items()}
    for each in inner.values():
        top.add_command(each)
    for words, function in module.VERBS.items():
        outer, _, last = words.rpartition(" ")
        verb(last, inner[outer] if outer else top)(_printing(name, function))
    return top


def _printing(name: str, function: Callable[..., Answer]) -> Callable[..., None]:
    """Return a function that calls a verb, gives its workflow to the session, and prints its answer."""
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    selects = bool(others) and hints[others[0].name] is Workflow

    def run(
        project: Workspace, *values: Any, as_json: bool = False, workflow_id: str | None = None, **options_: Any
    ) -> None:
        workflow_commands.settle(project)
        call = partial(function, project)
        if selects:
            conversation = options.conversation(project)
            call = partial(call, selection.select(project, workflow_id, conversation, whole=True, format=name))
        answer = call(*values, **options_)
        if answer.workflow is not None:
            workflow_commands.take(project, answer.workflow)
        if answer.workflow is not None and not (as_json and answer.data is not None):
            workflow_commands.tell(answer.workflow, as_json, answer.text)
        elif as_json:
            options.print_json(answer.data if answer.data is not None else {"text": answer.text})
        else:
            options.say(answer.text)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [each for each in others[selects:] if each.kind is not inspect.Parameter.VAR_KEYWORD]
    own += [inspect.Parameter("workflow_id", keyword, default=None)] * selects
    own.append(inspect.Parameter("as_json", keyword, default=False))
    run.__signature__ = signature.replace(parameters=[first, *own])  # type: ignore[attr-defined]
    run.__annotations__ = {**hints, first.name: Workspace, "workflow_id": _Other, "as_json": Json}
    run.__doc__ = function.__doc__
    return run
