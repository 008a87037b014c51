"""Kill and stop the warm server and its children at every step of the handshake.

`python -m tools.bench.hostile [ROUNDS] [SEED]`.

Each round fires one guarded call through the registered command and, while that is answered, sends a signal to the
server or to its children. The guard refuses every call and notes that it ran. So a reply that is no refusal is a call
let through, no reply is one lost, and two notes are one that ran twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.server import control
from holdfast.testkit.client import encoded
from tools.bench import place as places
from tools.bench import race

if TYPE_CHECKING:
    from tools.bench.place import Place

GUARD = """\
import os
from holdfast import deny, hookimpl
@hookimpl(match="Bash", strict=True)
def on_pre_tool_use(event):
    file = os.open({file!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{{event.tool_use_id}}\\n".encode())
    return deny("the guard says no")
"""
KINDS = (("server", signal.SIGKILL), ("server", signal.SIGSTOP), ("child", signal.SIGKILL), ("child", signal.SIGSTOP))
STEPS = 1.5
"""The latest that a signal is sent, in times of a warm call: by then the call is answered, however busy the machine."""
STOPPED_S = 1.5
"""How long a process stays stopped before it is killed."""


def main(rounds: int, seed: int) -> int:
    """Run so many rounds; print what was seen, and return whether anything was wrong."""
    chance, seen, wrong = random.Random(seed), Counter[str](), 0
    with tempfile.TemporaryDirectory(prefix="hf-", ignore_cleanup_errors=True) as folder:
        top = Path(folder).resolve()
        place, notes = places.make(top), top / "notes"
        (place.handlers / "refuse_secrets.py").write_text(GUARD.format(file=str(notes)))
        notes.touch()
        try:
            longest_s = STEPS * _call_s(place)
            print(f"signals come within {longest_s * 1000:.0f} ms of the call", flush=True)
            for number in range(rounds):
                _warm(place)
                target, how = KINDS[number % len(KINDS)]
                reply = _round(place, f"toolu_{number}", target, how, chance.uniform(0, longest_s))
                ran = notes.read_text().split().count(f"toolu_{number}")
                verdict = _verdict(reply)
                seen[f"{target} {how.name}: {verdict}"] += 1
                if ran > 1 or verdict not in ("refused by the guard", "refused in its place"):
                    wrong += 1
                    print(f"round {number}, {target} {how.name}: ran {ran} times, {reply!r}", flush=True)
        finally:
            for pid in _of(place):
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
    for name, times in sorted(seen.items()):
        print(f"{times:6} {name}")
    print(f"{wrong} of {rounds} rounds were wrong")
    return bool(wrong)


def _call_s(place: Place) -> float:
    """Return the median time of a warm call."""
    times = []
    for number in range(9):
        _warm(place)
        payload = encoded(place.payload("PreToolUse-Bash", tool_use_id=f"toolu_warm_{number}"))
        times.append(race.once(places.command("PreToolUse"), payload, place.environ, str(place.root))[0] / 1000)
    return statistics.median(times)


def _verdict(reply: bytes) -> str:
    try:
        said = json.loads(reply)["hookSpecificOutput"]
        refused = said["permissionDecision"] == "deny"
    except (ValueError, KeyError, TypeError):
        return "lost" if not reply else "unreadable"
    if not refused:
        return "let through"
    return "refused by the guard" if "says no" in said["permissionDecisionReason"] else "refused in its place"


def _round(place: Place, call: str, target: str, how: signal.Signals, delay: float) -> bytes:
    """Fire a call, send the signal, and return the reply."""
    payload = encoded(place.payload("PreToolUse-Bash", tool_use_id=call))
    pids = _of(place)
    server = {control.holder(address) for address in control.addresses(_folder(place))} - {0}
    process = subprocess.Popen(
        places.command("PreToolUse"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=place.environ, cwd=place.root,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    process.stdin.write(payload)
    process.stdin.close()
    time.sleep(delay)
    hit = server if target == "server" else set(pids) - server
    _send(hit, how)
    until = time.monotonic() + STOPPED_S
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    if how == signal.SIGSTOP:
        _send(hit, signal.SIGKILL)
    reply = process.stdout.read()
    process.wait()
    return reply


def _send(pids: set[int], how: signal.Signals) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, how)


def _folder(place: Place) -> Path:
    return place.home / ".local" / "state" / "holdfast" / "server"


def _warm(place: Place) -> None:
    """Have a server answer, with a child ready."""
    while True:
        for address in control.addresses(_folder(place)):
            if control.holder(address) and control.ask(address):
                return
        for mark in _folder(place).glob("*.tried"):
            mark.unlink(missing_ok=True)
        program = [str(place.launcher), "PreToolUse"]
        subprocess.run(program, input=b"{}", env=place.environ, cwd=place.root, capture_output=True, check=False)
        until = time.monotonic() + 10
        while time.monotonic() < until and not any(map(control.holder, control.addresses(_folder(place)))):
            time.sleep(0.02)


def _of(place: Place) -> list[int]:
    """Return the processes of a place's servers."""
    mark, found = f"HOME={place.home}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 1000, int(sys.argv[2]) if sys.argv[2:] else 1))
