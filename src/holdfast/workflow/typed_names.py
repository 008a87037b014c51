"""What you can type for a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workflow import names, registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records


def named(workflows: Sequence[Workflow], wanted: str, *, whole: bool = False) -> list[Workflow]:
    """Return the workflows with this id, title or path; without one, and unless `whole`, those that begin with it.

    If no name is exactly `wanted`, its case and the characters between its words don't matter: `user-auth` names the
    workflow "User auth".
    """
    exact = [each for each in workflows if wanted in (each.id, each.title, each.place, str(each.path), each.ref)]
    if exact:
        return exact
    folded, key = wanted.casefold(), names.key(wanted)
    alike = [
        each
        for each in workflows
        if folded in (each.id.casefold(), names.slug(each.title)) or (key and key == names.key(each.title))
    ]
    if alike or whole:
        return alike
    return [
        each for each in workflows if each.id.casefold().startswith(folded) or each.title.casefold().startswith(folded)
    ]


def short(workflow: Workflow, among: Sequence[Workflow]) -> str:
    """Return what you can type for a workflow: its title as `user-auth`, or its id if that could mean another one."""
    slug = names.slug(workflow.title)
    meant = [each.key for each in named(among, slug, whole=True)] if names.words(workflow.title) else []
    return slug if meant == [workflow.key] else workflow.id


def shortest(project: Records, workflow: Workflow) -> str:
    """Return the shortest of what you can type for a workflow in its project."""
    return min(short(workflow, registry.all_found(project).workflows), workflow.id, key=len)
