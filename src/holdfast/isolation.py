"""Running handlers in a process of their own, so that nothing one of them does costs the others' answers.

pluggy's multicall stops at the first exception, and no exception handling helps against `os._exit`, a crash in C
or a call that never returns to Python. So the handlers of an event run in a forked child that reports each
answer through a pipe as it comes; the parent keeps what it has, ends a child that is stuck or dead, names the
handler at fault, and forks again for the rest.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast import log, outcomes
from holdfast.calls import Answer, Caller, describe, with_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.context import Context
    from holdfast.events.event import Event
    from holdfast.loader import Call
    from holdfast.outcomes import Outcome

GRACE = 0.3  # seconds a handler has to obey its interrupt, or to note a delivery, before its process is ended
BURIAL = 0.2  # seconds in which a process that closed its pipe is expected to be dead
SHARE = 0.9  # of the event's time that is left one handler may take, so that its interrupt comes before the end
CAPTURE_LIMIT = 8_192  # bytes of what handlers print that are kept for the log
_CHUNK = 65_536


@dataclass
class Isolated:
    """The handlers of one event, run in child processes.

    Attributes:
        event: the event as changed so far.
        context: what handlers may ask for.
        timeout: seconds a handler may take when its route does not say.
        deadline: `time.monotonic()` at which the whole event ends.
        only_load: load the handlers' files and call nothing: `holdfast handlers check`.
        private: descriptors that handlers must not inherit: the client's own stdout and stderr.
        printed: by label, what handlers and their child processes wrote to stdout and stderr; the first
            `CAPTURE_LIMIT` bytes of each.
    """

    event: Event
    context: Context
    timeout: float
    deadline: float
    only_load: bool = field(default=False, kw_only=True)
    private: tuple[int, ...] = field(default=(), kw_only=True)
    printed: dict[str, bytearray] = field(default_factory=dict)
    _children: list[_Child] = field(default_factory=list)

    def run(self, plan: Sequence[Call]) -> list[Answer]:
        """Call every planned function, whatever the others do.

        Args:
            plan: what `loader.plan` selected.

        Returns:
            One answer per call, in the plan's order; a call without outcomes and fault had no opinion.
        """
        answers: dict[str, Answer] = {}
        while rest := [call for call in plan if call.label not in answers]:
            if time.monotonic() >= self.deadline:
                answers.update((call.label, Answer(call.label, fault="did not run: no time was left")) for call in rest)
                break
            self._run_rest(rest, answers)
        return [answers[call.label] for call in plan]

    def judge(self, plan: Sequence[Call]) -> list[Answer]:
        """Call functions once more, on the event as changed so far; nothing that they say now is delivered."""
        children, self._children = self._children, []
        try:
            return self.run(plan)
        finally:
            self.deliver(())
            self._children = children

    def deliver(self, said: Sequence[Outcome]) -> None:
        """Have `on_delivered` called, in the process each outcome came from, and let the children end.

        Args:
            said: the advice that stands whole in the reply that was written.
        """
        wanted = [outcomes.to_wire(outcome) for outcome in said]
        for child in self._children:
            child.release(wanted, max(self.deadline, time.monotonic() + GRACE))
        self._children.clear()

    def abandon(self) -> None:
        """End every child at once: the client has ended us."""
        for child in self._children:
            child.kill()
            child.close()
        self._children.clear()

    def _run_rest(self, rest: Sequence[Call], answers: dict[str, Answer]) -> None:
        """Run calls in one child until it is done, dead or stuck; every round answers at least one of them."""
        child = _Child.fork(self, rest)
        self._children.append(child)
        limits = {call.label: self._limit(call) + GRACE for call in rest}
        running = rest[0].label
        stop_at = time.monotonic() + limits[running]
        while (message := child.receive(min(stop_at, self.deadline), self._heard_from(running))) is not None:
            if "begin" in message:
                running = message["begin"]
                stop_at = time.monotonic() + limits[running]
            elif "answer" in message:
                answer = _from_wire(message)
                answers[answer.label] = answer
                said = self._heard_from(answer.label)
                said += message["printed"].encode()[: CAPTURE_LIMIT - len(said)]
                self.event = with_changes(self.event, answer.outcomes)
            else:  # the child has no more to say and waits for `deliver`
                return
        answers[running] = Answer(running, fault=child.end())

    def _heard_from(self, label: str) -> bytearray:
        return self.printed.setdefault(label, bytearray())

    def _limit(self, call: Call) -> float:
        left = max(self.deadline - time.monotonic(), 0.0)
        return min(call.route.timeout or self.timeout, left * SHARE)


@dataclass
class _Child:
    pid: int
    messages: int  # read end: what the child reports
    captured: int  # read end: what handlers print
    verdict: int  # write end: which advice was delivered
    _buffer: bytearray = field(default_factory=bytearray)
    _silent: bool = False  # it closed its pipe: it is dead, or about to be

    @classmethod
    def fork(cls, isolated: Isolated, plan: Sequence[Call]) -> _Child:
        messages, report = os.pipe()
        captured, printed = os.pipe()
        heard, verdict = os.pipe()
        os.set_blocking(messages, False)
        os.set_blocking(captured, False)  # both sides read it: the child what a call printed, we what one floods
        pid = os.fork()
        if pid == 0:
            try:
                for descriptor in (messages, verdict):
                    os.close(descriptor)
                os.dup2(printed, 1)
                os.dup2(printed, 2)
                _work(isolated, plan, report, captured, heard)
            finally:
                os._exit(0)
        for descriptor in (report, printed, heard):
            os.close(descriptor)
        return cls(pid, messages, captured, verdict)

    def receive(self, until: float, printed: bytearray) -> dict[str, Any] | None:
        """Return the child's next message, or None when it is dead, talks nonsense or the time is up."""
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0:
                return None
            poll = select.poll()
            poll.register(self.messages, select.POLLIN)
            if self.captured >= 0:
                poll.register(self.captured, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000)}
            if self.messages not in ready:  # messages first: they tell whose words the captured ones are
                self._capture(printed)
                continue
            chunk = os.read(self.messages, _CHUNK)
            if not chunk:
                self._silent = True
                self._capture(printed)
                return None
            self._buffer += chunk
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest
        try:
            message = json.loads(line)
        except ValueError:
            return None
        return message if isinstance(message, dict) else None

    def _capture(self, printed: bytearray) -> None:
        """Take what handlers have printed by now, a pipe's fill at most, and keep only the first part of it all.

        Nobody may block on us, so everything is read; but one read each time, or a flood would hold us up for ever.
        """
        if self.captured < 0:
            return
        chunk = _read_some(self.captured)
        if chunk == b"":
            os.close(self.captured)
            self.captured = -1
        printed += (chunk or b"")[: CAPTURE_LIMIT - len(printed)]

    def end(self) -> str:
        """End a child that is stuck, with all it started, or bury a dead one; say which it was."""
        pid, status = self._wait(time.monotonic() + BURIAL if self._silent else 0.0)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return f"ended its process (signal {-code})" if code < 0 else f"ended its process (exit code {code})"
        self.kill()
        if self._silent:
            return "closed descriptors that are not its own, and its process was ended"
        return "took longer than it may, did not obey its interrupt, and its process was ended"

    def release(self, wanted: Sequence[dict[str, Any]], deadline: float) -> None:
        """Tell the child what was delivered and wait for it, at most until the deadline."""
        if self.pid:
            self._tell(wanted)
            self._wait(deadline)
            self.kill()
        self.close()

    def close(self) -> None:
        """Close our ends of the pipes."""
        for descriptor in (self.messages, self.captured, self.verdict):
            if descriptor >= 0:
                os.close(descriptor)

    def _wait(self, until: float) -> tuple[int, int]:
        """Wait for the child's end, at most until a moment; return its pid and status, or a pid of 0."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
            if pid or time.monotonic() >= until:
                return pid, status
            time.sleep(0.001)

    def _tell(self, wanted: Sequence[dict[str, Any]]) -> None:
        try:
            _write(self.verdict, wanted)
        except OSError:
            return  # it has gone already: it had nothing to be told

    def kill(self) -> None:
        """End the child and everything in its process group."""
        if not self.pid:
            return
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except OSError:
                continue
        os.waitpid(self.pid, 0)
        self.pid = 0


def _read_some(descriptor: int) -> bytes | None:
    """Return what a non-blocking pipe holds, a fill at most; None when it is empty, b"" when nobody can write."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _work(isolated: Isolated, plan: Sequence[Call], report: int, captured: int, heard: int) -> None:
    """Be the child: call the handlers, report each answer, then wait to hear what was delivered."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for descriptor in isolated.private:
        os.close(descriptor)
    caller = Caller(isolated.event, isolated.context, isolated._limit, lambda label: _write(report, {"begin": label}))
    hopeful: list[Outcome] = []
    for answer in caller.loads(plan) if isolated.only_load else caller.answers(plan):
        hopeful += [outcome for outcome in answer.outcomes if outcome.on_delivered]
        _flush()
        _write(report, _to_wire(answer) | {"printed": (_read_some(captured) or b"").decode("utf-8", "replace")})
        if hopeful:
            break  # what it waits to hear shall not die with a later handler: those run in the next child
    _write(report, {"done": True})
    delivered = _heard(heard) if hopeful else []
    for outcome in hopeful:
        if outcomes.to_wire(outcome) in delivered:
            note_delivery(outcome)


def _flush() -> None:
    """Let out what handlers printed: this process ends without Python's own flush."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def note_delivery(outcome: Outcome) -> None:
    """Call an outcome's `on_delivered`; what it raises is logged, for the reply has been written already."""
    try:
        if outcome.on_delivered:
            outcome.on_delivered()
    except Exception as error:  # noqa: BLE001 - a bad callback costs only itself
        log.write("error", f"on_delivered failed: {describe(error, 0)}")


def _to_wire(answer: Answer) -> dict[str, Any]:
    said = [outcomes.to_wire(outcome) for outcome in answer.outcomes]
    return {"answer": answer.label, "outcomes": said, "fault": answer.fault}


def _from_wire(message: dict[str, Any]) -> Answer:
    said = tuple(outcomes.from_wire(values) for values in message["outcomes"])
    return Answer(message["answer"], said, message["fault"])


def _write(descriptor: int, message: object) -> None:
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]


def _heard(descriptor: int) -> list[dict[str, Any]]:
    data = b""
    while not data.endswith(b"\n"):
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return []
        data += chunk
    delivered: list[dict[str, Any]] = json.loads(data)
    return delivered
