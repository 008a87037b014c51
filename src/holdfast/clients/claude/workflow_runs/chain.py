"""How the client knows a script's call: by a chain of hashes over everything that was called before it.

A call's key is `v2:` and the SHA-256 of the state before it, its prompt and its options; the key is the state after it.
`parallel` and `pipeline` give each slot a state of its own, and join their ends afterwards (client fact §8).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from holdfast.frozen import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NO_OPTIONS = "{}"
_KINDS = ("parallel", "pipeline")
_GAP = 3  # slots without a call that are looked past
_STATES = 1_500  # states that a call is tried after if its own isn't found
_TRIES = 200_000  # hashes; each takes about a microsecond


class Call(NamedTuple):
    """A call of an earlier run: its key, and the prompt that its agent got."""

    key: str
    prompt: str


class Places:
    """Where the calls of one run stood.

    Attributes:
        before: the state before each call, by key, as far as it was found.
    """

    def __init__(self, calls: Sequence[Call], options: Iterable[str] = (NO_OPTIONS,)) -> None:
        """Find the places of calls.

        Args:
            calls: the calls, in order.
            options: options, as the client writes them, that are tried.
        """
        self.before: dict[str, str] = {}
        self._calls, self._options, self._tries = calls, tuple(options), _TRIES
        self._left = {each.key: each for each in calls}
        self._forks: dict[tuple[str, str], list[str]] = {}
        self._after: dict[str, str] = {}
        waiting, seen = ["", *(each.key for each in calls)], set[str]()
        while waiting and self._left and self._tries > 0:
            for state in waiting:
                self._take(state)
                for kind in _KINDS:
                    self._fork(state, kind)
            seen.update(waiting)
            waiting = [state for state in dict.fromkeys(self._joins()) if state not in seen]

    @property
    def staged(self) -> bool:
        """Whether a call came after another one in the same slot."""
        slots = {slot for slots in self._forks.values() for slot in slots}
        return any(state.startswith("v2:") and self._root(state) in slots for state in self.before.values())

    def possible(self, key: str) -> tuple[str, ...]:
        """Return the states that a call may have been made in: the one that was found, or the likely ones."""
        if key in self.before:
            return (self.before[key],)
        known = [slot for slots in self._forks.values() for slot in slots if slot not in self._after]
        return tuple(dict.fromkeys((*known, *self._likely())))[:_STATES]

    def _take(self, state: str) -> bool:
        """Place the call that was made in a state, if one of those left was."""
        for call in self._left.values():
            self._tries -= len(self._options)
            if any(key(state, call.prompt, each) == call.key for each in self._options):
                self.before[call.key], self._after[state] = state, call.key
                del self._left[call.key]
                return True
        return False

    def _fork(self, state: str, kind: str) -> None:
        """Place the first call of each slot of a `parallel` or `pipeline` that begins in a state."""
        slots, missed = list[str](), 0
        while missed < _GAP and self._left and self._tries > 0:
            slots.append(_hash(state, kind, f"slot:{len(slots)}"))
            missed = 0 if self._take(slots[-1]) else missed + 1
        if any(slot in self._after for slot in slots):
            self._forks[state, kind] = slots

    def _joins(self) -> Iterator[str]:
        """Yield the states after each fork that was found; how many slots it had is open."""
        for (state, kind), slots in self._forks.items():
            ends = [self._end(slot) for slot in slots]
            fork = _hash(state, kind, "fork")
            last = max(number for number, slot in enumerate(slots) if slot in self._after)
            for count in range(last + 1, len(slots) + 1):
                yield _hash(fork, kind, "join", *ends[:count])

    def _end(self, state: str) -> str:
        while state in self._after:
            state = self._after[state]
        return state

    def _root(self, state: str) -> str:
        while state in self.before:
            state = self.before[state]
        return state

    def _likely(self) -> Iterator[str]:
        width = len(self._calls) + _GAP
        yield ""
        yield from self._joins()
        for kind in _KINDS:
            yield from (_hash("", kind, f"slot:{number}") for number in range(width))
        yield from (each.key for each in self._calls)
        for state in (*self._joins(), *(each.key for each in self._calls)):
            for kind in _KINDS:
                yield from (_hash(state, kind, f"slot:{number}") for number in range(width))


def key(state: str, prompt: str, options: str = NO_OPTIONS) -> str:
    """Return the key of a call."""
    said = b"\0".join(each.encode("utf-8", "surrogatepass") for each in (state, prompt, options))
    return f"v2:{hashlib.sha256(said).hexdigest()}"


def _hash(*said: str) -> str:
    return hashlib.sha256(b"\0".join(each.encode() for each in said)).hexdigest()
