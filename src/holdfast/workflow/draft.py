"""A workflow's state during one change: what a format does so that the verbs can move it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from holdfast.errors import TransitionError
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workflow.model import Changes, Phase, Status


class Draft:
    """The state of one workflow under its lock, as one change sees and edits it.

    A format's draft says how its file moves. What the format refuses raises TransitionError with what to do instead.
    `edit` may run several times if somebody else saves meanwhile, each time with a new draft.
    """

    unit_word = "phase"
    advances = False
    """Whether the next phase begins whenever one is completed, by `update` too."""
    keeps_deliverables = False
    """Whether a phase has a place for what it delivered."""

    def units(self) -> Sequence[Phase]:
        """Return the phases as they are now."""
        raise NotImplementedError

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Give a phase a status.

        Args:
            id: the phase.
            status: the new status; the one it has is no move.
            note: what it hands over to the next, once it is completed.
            reason: why it failed or is blocked.
        """
        raise NotImplementedError

    def reopen(self, id: str) -> None:
        """Make a completed or failed phase active again."""
        self.move(id, "active")

    def end(self, *, early: bool) -> None:
        """Complete the workflow; with `early`, phases that aren't completed stay as they are."""

    def cancel(self, reason: str) -> None:
        """Give the workflow up, if the format has a word for that; else `verbs.cancel` puts it into the archive."""

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context."""
        raise NotImplementedError

    def rename(self, id: str, title: str) -> None:
        """Give a phase another title."""
        self.refuse(f"no {self.unit_word} of this workflow can be renamed")

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write what a phase hands over (None leaves it as it is), and add deliverables if the format keeps them."""
        self.refuse(f"no {self.unit_word} of this workflow keeps what it hands over")

    def ensure_kept(self, deliverables: Sequence[str]) -> None:
        """Raise TransitionError if there are deliverables, and no place for them."""
        if deliverables and not self.keeps_deliverables:
            self.refuse(f"no {self.unit_word} of this workflow keeps deliverables; --note stores a text")

    def resize(self, total: int) -> None:
        """Set how many phases there are. Most formats list each, so only their number is accepted."""
        there = len(self.units())
        if total != there:
            self.refuse(f"the workflow lists {count(there, self.unit_word)}, and --total can't change that")

    def following(self, completed: str = "") -> Phase | None:
        """Return the phase to begin after one that was just completed; by default, after none.

        That is the next pending one, else an earlier one that was skipped. None while one is active, failed or blocked.
        """
        units = self.units()
        if any(each.status in ("active", "failed", "blocked") for each in units):
            return None
        number = next((each.number for each in units if each.id == completed), 0)
        pending = [each for each in units if each.status == "pending"]
        return min(pending, key=lambda each: (each.number < number, each.number), default=None)

    def begin_following(self, completed: str = "") -> None:
        """Begin the phase after one that was just completed, if there is one to begin (`following`)."""
        following = self.following(completed)
        if following is not None:
            self.move(following.id, "active")

    def all_completed(self) -> bool:
        """Return whether nothing is left to do."""
        return all(each.status == "completed" for each in self.units())

    def nothing_due(self) -> str:
        """Say why no phase can be completed, and what to do."""
        return f"the workflow lists no {self.unit_word}s; `holdfast done --all` ends it"

    def unit(self, id: str) -> Phase:
        """Return the phase with this id. Raises TransitionError if there is none by now."""
        for each in self.units():
            if each.id == id:
                return each
        raise TransitionError(f"there is no {self.unit_word} {id!r} in the file now")

    def numbered(self, number: int) -> Phase:
        """Return the phase with a number from 1. Raises TransitionError if there is none."""
        units = self.units()
        for each in units:
            if each.number == number:
                return each
        there = count(len(units), self.unit_word)
        raise TransitionError(f"there is no {self.unit_word} {number}; the workflow has {there}, from 1 on")

    def refuse(self, why: str) -> NoReturn:
        """Raise TransitionError."""
        raise TransitionError(why)
