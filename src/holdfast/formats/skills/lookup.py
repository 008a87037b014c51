"""Find the workflow that somebody means: by key, id, feature or folder (I004-17, I004-24)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, StateError
from holdfast.files import access
from holdfast.formats.skills import candidates, folder, index, places, view
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.formats.skills.index import Entry
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records

_LISTED = 10  # workflows that an error message names


def named(
    project: Records, wanted: str, skill: str = "", *, briefly: bool = False, finished: bool = False
) -> list[Workflow]:
    """Return the unfinished workflows that a text means.

    The literal key counts first, as the file is named after it. Then come an id, another spelling of a feature's path,
    and a folder that features lie in: these are found by the index. Last comes an id that only the file itself has.

    Args:
        project: the project.
        wanted: a key, an id, a feature's path or a folder.
        skill: the skill it has to be of; empty for any.
        briefly: read no more files than an event may (`candidates.MOST`).
        finished: return those instead that are finished and were not moved away yet.
    """
    ending = f"-{places.hashed(wanted)}"
    literal = bool(skill) and access.is_there(places.active(project) / f"{skill}{ending}.json")
    there = dict.fromkeys([f"{skill}{ending}"] if literal else folder.names(project))  # a prompt seldom lists them all
    found = [each for each in there if each.endswith(ending) and _is_of(each, skill)]
    found = found or [each for each in (wanted, wanted.partition("@")[0]) if each in there and _is_of(each, skill)][:1]
    if not found and (path := one_spelling(project, wanted)):
        listed = [each for each in _listed(project, briefly) if skill in ("", each.skill) and each.id in there]
        about = [(each.id, one_spelling(project, each.feature)) for each in listed]
        found = [id_ for id_, feature in about if feature == path]
        found = found or [id_ for id_, feature in about if feature.startswith(f"{path}/")]
    if not found and not briefly and places.is_skill(wanted.partition("@")[0]):
        names, _ = folder.readable(project)
        found = [name for name in names if _is_of(name, skill) and _calls_itself(project, name, wanted)]
    if briefly:
        found = found[: candidates.MOST]
    return [each for each in (_read(project, name) for name in found) if each is not None and each.finished is finished]


def one(project: Records, wanted: str, skill: str = "") -> Workflow:
    """Return the one workflow that a text means. Raises HoldfastError if there is none, or if there are several."""
    found = named(project, wanted, skill)
    if len(found) == 1:
        return found[0]
    if found:
        raise HoldfastError(f"several workflows fit {quoted(wanted)}: {listing(found)}; name one by its id")
    names, left = folder.readable(project)
    there = ", ".join(names[:_LISTED])
    more = f". {folder.left_out(len(names) + left, left)}; `{folder.CLEANUP}` removes old ones" if left else ""
    raise HoldfastError(
        f"no workflow of a skill is about {quoted(wanted)}; "
        + (f"there are: {there}" if there else "`holdfast skills start SKILL --feature FILE` starts one")
        + more
    )


def listing(found: Iterable[Workflow]) -> str:
    """Return workflows in a sentence, with their ids."""
    every = [f"{each.path.stem} ({quoted(each.title)})" for each in found]
    return ", ".join(every[:_LISTED]) + (f" and {len(every) - _LISTED} more" if len(every) > _LISTED else "")


def _listed(project: Records, briefly: bool) -> list[Entry]:
    """Return what the index lists; without a usable one, what it would, for the last changed files."""
    try:
        return index.entries(project)
    except StateError:
        those = candidates.names(project, ())[0] if briefly else folder.readable(project)[0]
        return [each.entry for each in index.from_files(project, those)]


def one_spelling(project: Records, text: str) -> str:
    """Return a path in the project in one spelling; empty for a text that is none."""
    text = text.strip()
    if not text or "\n" in text or "\0" in text:
        return ""
    root = os.fspath(project.root)
    whole = os.path.normpath(os.path.join(root, text))  # noqa: PTH118 - pathlib does not normalise
    return whole.removeprefix(f"{root}/") if whole.startswith(f"{root}/") else ""


def _is_of(name: str, skill: str) -> bool:
    return not skill or name.rpartition("-")[0] == skill


def _calls_itself(project: Records, name: str, wanted: str) -> bool:
    """Return whether the file of a workflow has this id, which may differ from the file's name (I004-1)."""
    found = _read(project, name)
    return found is not None and wanted in (found.id, found.id.partition("@")[0])


def _read(project: Records, name: str) -> Workflow | None:
    path: Path = places.active(project) / f"{name}.json"
    try:
        return view.merged(project, view.read(project, path))[0]
    except StateError:
        return None
