"""Find out whether a call that must be refused is still refused after its server was killed during a session."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from tools.bench import place as places
from tools.bench import server
from tools.bench.client import ways
from tools.bench.client.added import drive
from tools.bench.race import WrongAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tools.bench.client.driven import Driven
    from tools.bench.client.ways import Way
    from tools.bench.place import Place

_CALLS = 3


def measure(program: Path, top: Path) -> list[dict[str, Any]]:
    """Return each way's name, and for the calls after its server's death whether they were refused.

    Args:
        program: the client.
        top: an empty folder.

    Raises:
        WrongAnswerError: a call wasn't refused even before that.
    """
    place = places.make(top)
    (place.root / "printenv.txt").write_text("two\n")
    with ExitStack() as stack:
        stack.callback(server.stop, place)
        warm = places.warm_up(place)
        them = [each for each in ways.warm(place) if each.name == ways.WARM] if warm else []
        rows = [_row(place, program, each) for each in them]
    mcp = ways.Way("mcp_tool", ways.mcp_hook(), servers=ways.mcp_server(place))
    with ExitStack() as http:
        rows += [_row(place, program, mcp), _row(place, program, ways.Way("HTTP", ways.http_hook(place, http)), http)]
    return rows


def _row(place: Place, program: Path, way: Way, http: ExitStack | None = None) -> dict[str, Any]:
    with ExitStack() as stack:
        if way.name == ways.WARM and not places.warm_up(place):
            raise WrongAnswerError("the server did not come back")
        driven = drive(place, program, way, stack)
        if not _refused(driven, place):
            raise WrongAnswerError(f"{way.name} did not refuse")
        if http:
            http.close()
        else:
            _kill(_mcp(driven) or server.tree(place))
        return {"name": way.name, "refused": [_refused(driven, place) for _ in range(_CALLS)]}


def _refused(driven: Driven, place: Place) -> bool:
    return ways.REFUSED in driven.step(ways.TOOL, file_path=str(place.root / "printenv.txt")).result


def _mcp(driven: Driven) -> list[int]:
    return [pid for pid in server.family(driven.pid) if b"tools.bench.alternatives.over_mcp" in server.command(pid)]


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
