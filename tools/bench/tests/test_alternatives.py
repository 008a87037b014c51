"""Each relay, and each way that Holdfast doesn't ship, does the work that it is compared by."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tools.bench import place as places
from tools.bench import race, server, unshipped
from tools.bench.client import ways

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler here, so no native relay")
def test_each_way_is_answered_and_by_the_server_that_it_should_ask(short_folder: Path) -> None:
    """A row would otherwise tell what another way, or a cold start, takes."""
    place = places.make(short_folder)
    with ExitStack() as stack:
        stack.callback(server.stop, place)
        assert places.warm_up(place)
        assert server.tree(place)
        found = unshipped.contestants(place, stack, server=True)
        assert {ways.NATIVE, ways.NO_SHELL} <= {each.name for each in found}
        assert [each.name for each in ways.warm(place)] == [ways.WARM, ways.NO_SHELL]
        for each in found:
            assert isinstance(each.stdin, bytes)
            assert not any(_warm(place, each) for _ in range(3)) or each.asks, each.name
            assert not each.asks or any(_warm(place, each) for _ in range(5)), each.name


def _warm(place: places.Place, way: race.Contestant) -> bool:
    """Have a way answer. Return whether the server has answered one event more since; on a busy machine it may not."""
    before = places.answered(place)
    assert isinstance(way.stdin, bytes)
    answer = way.ask(way.stdin) if way.ask else race.once(way.command, way.stdin, place.environ)[2]
    assert ways.REFUSED.encode() in answer, way.name
    return places.answered(place) > before
