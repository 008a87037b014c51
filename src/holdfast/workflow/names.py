"""Workflow names: safe for paths, comparable across spellings, and what you can type for a workflow."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

from holdfast.files.invisible import HIDDEN
from holdfast.files.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workflow.model import Workflow

_SLUG_LIMIT_CHARS = 50  # characters of a slug (I001-5)
_UNSAFE = re.compile(r"[^a-z0-9]+")
_PLAIN = re.compile(r"[A-Za-z_ -]{0,30}")  # a usual name, which needs no closer look


def slug(name: str) -> str:
    """Return a name as lower-case words joined by hyphens, at most 50 characters, never empty (R001-03, I001-5).

    A name without any ASCII letter or digit becomes `workflow-` and a hash of it.
    """
    cut = words(name)[:_SLUG_LIMIT_CHARS].strip("-")
    return cut or f"workflow-{_hash(name)}"


def faithful(name: str) -> bool:
    """Return whether the slug still contains the whole name, so that a folder with that slug can be its own."""
    return words(name)[:_SLUG_LIMIT_CHARS].replace("-", "") == key(name)


def key(name: str) -> str:
    """Return a name's letters and digits in lower case, which are the same for all of its spellings."""
    return "".join(c for c in HIDDEN.sub("", name).casefold() if c.isalnum()) or name.strip().casefold()


def words(name: str) -> str:
    """Return a name in lower case without accents, with one hyphen for each run of other characters than a-z and 0-9.

    Secrets are masked first: the words become names of files, and in lower case nothing recognises a secret any more.
    """
    letters = unicodedata.normalize("NFKD", _masked(name).casefold())
    return _UNSAFE.sub("-", "".join(c for c in letters if not unicodedata.combining(c))).strip("-")


def matching(workflows: Sequence[Workflow], wanted: str, *, whole: bool = False) -> list[Workflow]:
    """Return the workflows with this id, title or path; without one, and unless `whole`, those that begin with it.

    If no name is exactly `wanted`, its case and the characters between its words don't matter: `user-auth` names the
    workflow "User auth".
    """
    exact = [each for each in workflows if wanted in (each.id, each.title, each.place, str(each.path), each.ref)]
    if exact:
        return exact
    folded, letters = wanted.casefold(), key(wanted)
    alike = [
        each
        for each in workflows
        if folded in (each.id.casefold(), slug(each.title)) or (letters and letters == key(each.title))
    ]
    if alike or whole:
        return alike
    return [
        each for each in workflows if each.id.casefold().startswith(folded) or each.title.casefold().startswith(folded)
    ]


def short(workflow: Workflow, among: Sequence[Workflow]) -> str:
    """Return what you can type for a workflow: its title as `user-auth`, or its id if that could mean another one."""
    typed = slug(workflow.title)
    meant = [each.key for each in matching(among, typed, whole=True)] if words(workflow.title) else []
    return typed if meant == [workflow.key] else workflow.id


def is_copy(name: str) -> bool:
    """Return whether a file is a copy that a person made beside a state file, such as `state-x copy.json`.

    No state file has a space in its name, and every file manager puts one into a copy's.
    """
    return any(c.isspace() for c in name)


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def holds_secret(name: str) -> bool:
    """Return whether a name holds what Holdfast doesn't store. Such a name can't be a unit's id: ids are stored."""
    return _masked(name) != name


def _masked(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    return redact(name)
