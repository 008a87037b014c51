"""Of several processes that want to be the server at an address one wins, and only its owner can reach it."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.server import claim as claims
from holdfast.server import servers
from tests.server.test_servers import held, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["place"]  # a fixture

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="a lock's holder is known on Linux")


@pytest.fixture
def claim(place: Path) -> Iterator[Callable[[], socket.socket | None]]:
    """Claim the place; what is claimed is let go of afterwards."""
    claimed: list[tuple[socket.socket, int]] = []

    def now() -> socket.socket | None:
        given = claims.claim(place)
        claimed.extend([given] if given else [])
        return given[0] if given else None

    yield now
    for listener, lock in claimed:
        listener.close()
        with suppress(OSError):
            os.close(lock)


def descriptors() -> int:
    """Return how many are open here."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_who_claims_a_place_listens_there_for_its_owner_alone(
    place: Path, claim: Callable[[], socket.socket | None]
) -> None:
    """Also in a folder that others could read; it never waits for who asks, and hands nothing on to what it starts."""
    place.parent.chmod(0o755)
    before = os.umask(0)
    try:
        listener = claim()
    finally:
        os.umask(before)

    assert listener and not listener.getblocking() and not listener.get_inheritable()
    assert servers.holder(place) == os.getpid()
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (place.parent, *place.parent.iterdir())}
    assert modes == {"server": 0o700, place.name: 0o600, f"{place.name}.lock": 0o600}
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(place))
        listener.accept()[0].close()


def test_the_folder_is_made(place: Path, claim: Callable[[], socket.socket | None]) -> None:
    """At the first start there is none."""
    place.parent.rmdir()
    assert claim()


def test_what_was_left_in_the_way_is_replaced(place: Path, claim: Callable[[], socket.socket | None]) -> None:
    """A server that was killed leaves its socket, or the one that it was about to name so."""
    for each in (place, place.with_suffix(".new")):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(each))
    assert claim()
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(place))
    assert not place.with_suffix(".new").exists()


def test_who_finds_the_socket_is_not_refused(
    place: Path, claim: Callable[[], socket.socket | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets its name only when somebody listens there."""
    real, connected = Path.rename, []

    def rename(path: Path, target: Path) -> Path:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(path))
            connected.append(stat.S_IMODE(path.stat().st_mode))
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    assert claim()
    assert connected == [0o600]


def test_of_two_the_second_leaves(
    place: Path, claim: Callable[[], socket.socket | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one answers, and goes on; nothing of the attempt is left."""
    monkeypatch.setattr(servers, "ask", lambda address, patience: {"pid": 1})
    with held(place) as pid:
        before = descriptors()
        assert claim() is None
        assert descriptors() == before
        assert servers.holder(place) == pid


def test_one_that_is_just_starting_is_given_time(
    place: Path, claim: Callable[[], socket.socket | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the lock and does not listen yet."""
    said: list[dict[str, Any] | None] = [None, None, {"pid": 1}]
    monkeypatch.setattr(servers, "ask", lambda address, patience: said.pop(0))
    monkeypatch.setattr(servers, "ANSWER_TIMEOUT_S", 60.0)
    with held(place) as pid:
        assert claim() is None
        assert servers.holder(place) == pid
    assert said == []


def test_one_that_hangs_is_replaced(
    place: Path, claim: Callable[[], socket.socket | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It serves nobody."""
    monkeypatch.setattr(servers, "ANSWER_TIMEOUT_S", 0.1)
    with held(place, "stubborn"):
        assert claim()
        assert servers.holder(place) == os.getpid()


def test_one_that_ends_meanwhile_is_replaced(
    place: Path, claim: Callable[[], socket.socket | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits until its time to answer is over."""
    monkeypatch.setattr(servers, "ANSWER_TIMEOUT_S", 1_000.0)
    with held(place) as pid:
        monkeypatch.setattr(servers, "ask", lambda address, patience: os.kill(pid, 9))
        assert claim()


def test_where_nobody_can_listen_is_an_error(place: Path) -> None:
    """For the server to log; a link in the lock's place leads to somebody else's file."""
    place.with_suffix(".lock").symlink_to(place.with_name("theirs"))
    with pytest.raises(OSError, match="symbolic links"):
        claims.claim(place)
    assert not place.with_name("theirs").exists()
    assert paths.ensure_private(place.parent)
