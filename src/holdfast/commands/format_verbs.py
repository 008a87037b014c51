"""Make commands of a format's verbs: plain functions in `formats/NAME/verbs.py` that know nothing of commands."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

import click

from holdfast import formats
from holdfast.commands import options, workflow_commands
from holdfast.commands.verb import Json, verb
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.workflow.format import Answer


def group(name: str) -> click.Group:
    """Return the group of a format's own commands.

    `VERBS` of its module `verbs` has a function for each command: `{"task add": add, "scratch": scratch}`. The module's
    docstring is the group's help, and `GROUPS` has the help of each inner group by its name. A function takes the
    project and what its annotations say (`commands.verb`), and returns an `Answer`.
    """
    module = import_module(formats.module(name, "verbs"))
    top = click.Group(name, help=inspect.getdoc(module))
    inner = {each: click.Group(each, help=text) for each, text in getattr(module, "GROUPS", {}).items()}
    for each in inner.values():
        top.add_command(each)
    for words, function in module.VERBS.items():
        outer, _, last = words.rpartition(" ")
        verb(last, inner[outer] if outer else top)(_printing(function))
    return top


def _printing(function: Callable[..., Answer]) -> Callable[..., None]:
    """Return a function that calls a verb, gives its workflow to the session, and prints its answer."""

    def run(project: Workspace, *values: Any, as_json: bool = False, **options_: Any) -> None:
        workflow_commands.settle(project)
        answer = function(project, *values, **options_)
        if answer.workflow is not None:
            workflow_commands.take(project, answer.workflow)
            workflow_commands.tell(answer.workflow, as_json, answer.text)
        elif as_json:
            options.print_json(answer.data if answer.data is not None else {"text": answer.text})
        else:
            options.say(answer.text)

    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    as_json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False)
    own = [each for each in others if each.kind is not inspect.Parameter.VAR_KEYWORD]
    run.__signature__ = signature.replace(parameters=[first, *own, as_json])  # type: ignore[attr-defined]
    hints = get_type_hints(function, include_extras=True)
    run.__annotations__ = {**hints, first.name: Workspace, "as_json": Json}
    run.__doc__ = function.__doc__
    return run
