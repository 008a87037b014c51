"""Find the machine of a skill: the user's, the project's once trusted, or a shipped one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import formats
from holdfast.errors import HoldfastError, TransitionError
from holdfast.formats.skills import machine, places, record
from holdfast.workflow import definitions
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from holdfast.formats.skills.machine import Machine

KIND = record.DEFINITIONS
SHIPPED = Path(__file__).parent / "machines"
MACHINES = definitions.Library(
    KIND, machine.parse, trusting=formats.trusting()[KIND], is_name=places.is_skill, shipped=SHIPPED
)


def get(root: Path, skill: str) -> Machine:
    """Return the machine of a skill.

    A user's file comes first, so a project's never replaces it. A project's counts once trusted, before a shipped one.

    Raises:
        ConfigError: its file describes no machine.
        StateError: its file can't be read.
        TransitionError: there is none, or the project's isn't trusted. The message names those there are.
    """
    found = MACHINES.first(root, skill)
    if found is not None:
        return found
    if waiting := MACHINES.waiting(root, skill):
        raise TransitionError(f"{waiting} is not trusted; read it, then run `{MACHINES.trusting} {skill}`")
    known = sorted({each.name for each in MACHINES.listed(root) if each.value})
    raise TransitionError(
        f"{missing(f'machine {skill!r}', known)}. Describe one in "
        f"{definitions.user_folder(KIND) / 'NAME.toml'}, or name its phases with --phase"
    )


def known(root: Path, skill: str) -> tuple[Machine | None, str]:
    """Return the machine of a skill, None without a usable one, and what is wrong with its file; empty for nothing."""
    try:
        return MACHINES.first(root, skill), ""
    except HoldfastError as error:
        return None, str(error)
