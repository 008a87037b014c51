"""Make commands of functions: a function's parameters are the command's arguments and options.

    @verb("trust", command)
    def trust(project: Workspace, *files: Path, yes: Annotated[bool, "Don't ask."] = False) -> None:
        "Trust FILES of a project."

The docstring is the command's help. The parameters, in their order:

- one of type `Workspace` is the project, opened, or one of type `ProjectDir` its folder: `--project` names it,
- another positional one is an argument, and `*files` takes any number of them,
- one by keyword is an option: `in_project` is `--in-project`, a bool is a flag, and a `tuple[str, ...]` may be
  repeated. Without a default it is required.

The text in `Annotated` is an option's help. Other notes there are: another name of an option, such as "-v", or a long
one such as "--read" in place of the parameter's own; a type of click, such as `click.Path(exists=True)`; or further
settings, such as `{"metavar": "N"}`. The names below are what commands share.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click

from holdfast.commands import options
from holdfast.sessions.workspace import Workspace

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_WORKFLOW: dict[str, Any] = {"metavar": "WORKFLOW", "shell_complete": options.workflow_names}
Json = Annotated[bool, "--json", "Print JSON."]
Yes = Annotated[bool, "Don't ask."]
InProject = Annotated[bool, "Write it into the project, trusted, not into your own folder."]
ProjectDir = Annotated[str | None, "The value of --project."]
SessionId = Annotated[str | None, "--session", {"metavar": "ID"}, "Only this session. The beginning of its id will do."]
Name = Annotated[str | None, _WORKFLOW | {"metavar": "[WORKFLOW]"}]
Other = Annotated[str | None, "--workflow", _WORKFLOW, "This workflow instead of the current one."]
Scope = Annotated[
    str,
    click.Choice(["user", "project", "local"]),
    {"show_default": True},
    "user: all your projects; project: shared with the team; local: only you, only here.",
]
SettingsFile = Annotated[
    Path | None, "--settings", {"metavar": "PATH"}, "Use this file instead of the scope's default."
]
DryRun = Annotated[bool, "Print what would change, and change nothing."]
Output = Annotated[Path | None, {"metavar": "[FILE]"}, click.Path(path_type=Path, dir_okay=False, allow_dash=True)]
Since = Annotated[datetime | None, options.Moment(), {"metavar": "TIME"}, "Not before this time or age: 30m, 2h, 3d."]
Reading = Annotated[tuple[str, ...], "--read", {"metavar": "PATH"}, "A file that Claude has to read. Repeat it."]
Reminders = Annotated[tuple[str, ...], "--remind", {"metavar": "TEXT"}, "What Claude has to keep in mind."]
Deliverables = Annotated[tuple[str, ...], "--deliverable", {"metavar": "D"}, "What the phase delivered. Repeat it."]
Assignments = Annotated[tuple[str, ...], "--set", {"metavar": "K=V"}, "A context value. V may be JSON."]


_PROJECT = click.Option(
    ["--project", "project_dir"], metavar="DIR", help="The project's folder. Default: the nearest one from here upward."
)


class _OfProject(click.Command):
    """A command that is about a project: it takes `--project`, the option that all of these share."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters, `--project` and `--help`."""
        *own, last = super().get_params(ctx)
        return [*own, _PROJECT, last]


def verb(name: str, group: click.Group | None = None) -> Callable[[Callable[..., object]], click.Command]:
    """Return a decorator that makes a command of a function, and adds it to a group if there is one."""

    def decorate(function: Callable[..., object]) -> click.Command:
        signature = inspect.signature(function)
        hints = get_type_hints(function, include_extras=True)
        projects = [each for each in signature.parameters if hints[each] in (Workspace, ProjectDir)]

        def run(**values: Any) -> None:
            for each in projects:
                folder = values.pop("project_dir")
                values[each] = options.open_project(folder) if hints[each] is Workspace else folder
            bound = signature.bind_partial()
            bound.arguments.update(values)
            function(*bound.args, **bound.kwargs)

        declared: Callable[..., Any] = run
        for each in reversed([each for each in signature.parameters.values() if each.name not in projects]):
            declared = _parameter(each, hints[each.name])(declared)
        kind = _OfProject if projects else click.Command
        command = click.command(name, cls=kind, help=inspect.getdoc(function))(declared)
        if group:
            group.add_command(command)
        return command

    return decorate


class ListGroup(click.Group):
    """A group that runs its command `list` unless another one is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add `list` to arguments that begin with no command, unless a shell completes them."""
        named = bool(args) and (not args[0].startswith("-") or args[0] in self.get_help_option_names(ctx))
        return super().parse_args(ctx, args if named or ctx.resilient_parsing else ["list", *args])


def _parameter(parameter: inspect.Parameter, hint: Any) -> Decorator:
    """Return the decorator of click that declares a parameter as an argument or an option."""
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    types = [each for each in notes if isinstance(each, click.ParamType)]
    texts = [each for each in notes if isinstance(each, str)]
    settings: dict[str, Any] = {
        "type": types[0] if types else click.Path(path_type=Path) if kind in (Path, Path | None) else None
    }
    for each in notes:
        settings |= each if isinstance(each, dict) else {}
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return click.argument(parameter.name, nargs=-1, **settings)
    needed = parameter.default is inspect.Parameter.empty
    settings |= {"required": True} if needed else {"required": False, "default": parameter.default}
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        return click.argument(parameter.name, **settings)
    *names, text = texts
    if not any(each.startswith("--") for each in names):
        names.append(f"--{parameter.name.replace('_', '-')}")
    settings |= {"is_flag": kind is bool, "multiple": kind == tuple[str, ...], "help": text}
    return click.option(*names, parameter.name, **settings)
