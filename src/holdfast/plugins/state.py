"""A handler's memory, which it gets as the argument `state`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast import clock, paths
from holdfast.errors import HoldfastError
from holdfast.files import lock, trust
from holdfast.memory.rows import HandlerState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from holdfast.project import OpenProject

LIMIT_BYTES = 64 * 1024
LOCK_TIMEOUT_S = 1.0
STATES_LIMIT = 1_000
"""How many dicts of a project stay: those that changed last."""


class State:
    """Three dicts of JSON values, for as long as a turn, a session or the project lasts.

    Each handler file has its own, and in a subagent's turn and session its own again. Use one in a `with` block:

        with state.session as memory:
            memory["refused"] = memory.get("refused", 0) + 1

    The block holds a lock, for which another process waits at most a second. What the dict holds at its end is saved
    in one step; if the block raises, nothing is. A dict may take 64 KB as JSON. `holdfast forget` deletes it.
    """

    def __init__(self, project: OpenProject, handler: str, session: str, turn: str, agent: str) -> None:
        """Name whose memory it is.

        Args:
            project: the event's project.
            handler: the handler file, `user/guard.py`.
            session: the event's session.
            turn: the id of its user prompt; empty before the first one.
            agent: the id of the subagent it happened in; empty in the main conversation.
        """
        self._project = project
        self._handler = handler
        self._session = session
        self._turn = turn
        self._agent = agent

    @property
    def turn(self) -> AbstractContextManager[dict[str, Any]]:
        """What it remembers until the user's next prompt."""
        return self._scope("turn", self._session, self._turn, self._agent)

    @property
    def session(self) -> AbstractContextManager[dict[str, Any]]:
        """What it remembers in this session."""
        return self._scope("session", self._session, "", self._agent)

    @property
    def project(self) -> AbstractContextManager[dict[str, Any]]:
        """What it remembers in this project, in all sessions."""
        return self._scope("project", "", "", "")

    @contextmanager
    def _scope(self, scope: str, session: str, turn: str, agent: str) -> Iterator[dict[str, Any]]:
        name = trust.digest(f"{self._project.key} {self._handler} {scope}".encode())[:32]
        with lock.locked(paths.ensure_private(paths.state_dir()) / "locks" / name, timeout=LOCK_TIMEOUT_S):
            conversation = self._project.ledger.conversation(session)
            key = (self._handler, scope, conversation, turn, agent)
            table = self._project.ledger.table(HandlerState)
            known = table.one(**dict(zip(HandlerState.KEY, key, strict=True)))
            before = known.value if known else "{}"
            memory = json.loads(before)
            yield memory
            value = self._text(scope, memory)
            if value != before:
                table.put(HandlerState(*key, value, clock.stamp()))
                if not known:
                    table.prune("changed_at", STATES_LIMIT)

    @staticmethod
    def _text(scope: str, memory: dict[str, Any]) -> str:
        try:
            text = json.dumps(memory, allow_nan=False)
            _check_keys(memory)
        except (TypeError, ValueError) as error:
            raise HoldfastError(f"state.{scope} holds JSON values only: {error}") from None
        if len(text) > LIMIT_BYTES:
            raise HoldfastError(f"state.{scope} may hold {LIMIT_BYTES // 1024} KB as JSON, not {len(text) // 1024} KB")
        return text


def _check_keys(value: object) -> None:
    """Raise TypeError for a key that isn't a text: JSON makes one of it, so that it wouldn't be found again."""
    for key in value if isinstance(value, dict) else ():
        if not isinstance(key, str):
            raise TypeError(f"the key {key!r} isn't a text; write {str(key)!r}")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        _check_keys(each)
