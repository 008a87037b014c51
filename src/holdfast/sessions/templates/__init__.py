"""Templates: named patterns for new workflows, from files or from earlier workflows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from holdfast import formats, paths
from holdfast.errors import HoldfastError, MissingError
from holdfast.files import tomlfile
from holdfast.sessions import archive
from holdfast.workflow import definitions, names, registry
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

SHIPPED = Path(__file__).parent
_AGENT = re.compile(r"(?P<title>.*\S)\s+@(?P<agent>[\w:.-]+)", re.DOTALL)


def _known_format(name: str) -> str:
    if name not in formats.NAMES:
        raise ValueError(f"there is no {name!r}; write {' or '.join(formats.NAMES)}")
    return name


def _storable(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError("no state file can hold this; write it as a text, in quotes") from error
    return value


class Template(BaseModel):
    """A pattern for a new workflow. The keys of its file are named after the options of `holdfast start`.

    Attributes:
        format: the format it asks for; empty for any.
        kind: the workflow's type.
        titles: a title for each phase, which may name its agent: `Review it @code-reviewer`.
        total: the number of phases; None if all are named.
        reading: required reading.
        reminders: key reminders.
        context: context values.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    format: Annotated[str, AfterValidator(_known_format)] = ""
    kind: str = Field(default="", alias="type")
    titles: list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]] = Field(
        min_length=1, alias="phases"
    )
    total: int | None = Field(default=None, ge=1)
    reading: list[str] = Field(default=[], alias="read")
    reminders: list[str] = Field(default=[], alias="remind")
    context: dict[str, Annotated[Any, AfterValidator(_storable)]] = Field(default={}, alias="set")

    @model_validator(mode="after")
    def _total_counts_all(self) -> Self:
        if self.total is not None and self.total < len(self.titles):
            raise ValueError(f"total is {self.total}, but {len(self.titles)} phases are named")
        return self

    @property
    def phases(self) -> tuple[tuple[str, str], ...]:
        """The title and the agent of each phase; an agent may be empty."""
        return tuple(map(phase, self.titles))


EMPTY = Template.model_construct(phases=[])


def _folders(project: Workspace) -> list[tuple[Path, Path | None]]:
    """Return the folders of template files, the nearest first: the project's, the user's, the shipped ones.

    Each comes with the folder that links in it must stay inside; None allows any.
    """
    return [(paths.project_templates(project.root), project.root), (paths.user_templates(), None), (SHIPPED, None)]


def get(project: Workspace, name: str) -> Template:
    """Return the template of this name: a template file, else a workflow of the project by id or title.

    A workflow gives its phases, agents, type, reading and reminders, but not its context, which was its own. Raises
    HoldfastError if there is no such template, or its file is invalid.
    """
    if Path(name).name == name:
        for folder, within in _folders(project):
            try:
                return _from_file(folder / f"{name}.toml", within)
            except MissingError:
                continue
    if workflows := names.matching(_workflows(project), name, whole=True):
        return _from_workflow(workflows[0])
    raise HoldfastError(f"{missing(f'template {name!r}', file_names(project))}, and every workflow by its id or title")


def file_names(project: Workspace) -> list[str]:
    """Return the names of the templates that are files, the nearest first."""
    files = [file for folder, _ in _folders(project) for file in sorted(folder.glob("*.toml"))]
    return list(dict.fromkeys(file.stem for file in files))


def phase(text: str) -> tuple[str, str]:
    """Split `Write tests @test-writer` into title and agent; the agent is empty where none is named."""
    named = _AGENT.fullmatch(text.strip())
    return (named["title"], named["agent"]) if named else (text.strip(), "")


def _from_file(file: Path, within: Path | None) -> Template:
    return definitions.checked(Template, tomlfile.load(file, within=within), str(file), "template")


def _from_workflow(workflow: Workflow) -> Template:
    listed = {each.number: f"{each.title} @{each.agent}" if each.agent else each.title for each in workflow.phases}
    # Unlisted phases between listed ones get a title. Those after the last are only counted, in `total`.
    titles = [listed.get(number, f"Phase {number}") for number in range(1, max(listed, default=0) + 1)]
    return Template.model_construct(
        format=workflow.format,
        type=workflow.kind,
        phases=titles,
        total=workflow.total,
        read=list(workflow.reading),
        remind=list(workflow.reminders),
    )


def _workflows(project: Workspace) -> list[Workflow]:
    """Return the project's workflows, then the archived ones, the latest first."""
    return [*registry.all_found(project).workflows, *(each.workflow for each in archive.entries(project))]
