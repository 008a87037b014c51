#!/usr/bin/env python3
"""The single entrypoint Claude Code runs for every registered event: `dispatch.py [EVENT]`.

It parses on any Python 3, imports nothing but `sys`, and never touches stdin itself: whoever answers the event reads
it. What it does is in `holdfast/relay.py`, which it runs from its bytecode: this text is compiled at every start, so
it is short. It exits 0 whatever happens; the only other code is 2, on the two events that know no JSON decision
(TeammateIdle, TaskCompleted). Where Holdfast does not load, `refuse.sh` refuses if a strict handler is known.

`holdfast install` writes a copy of this file, with the right interpreter in its first line and `ROOT` filled in,
to the place the registered command names.
"""

import sys

ROOT = ""


def main():
    # type: () -> int
    """Have the event answered that is named on the command line, or in the payload."""
    argument = sys.argv[1] if len(sys.argv) > 1 else None
    root = ROOT
    try:
        root = ROOT or __file__.rpartition("/hooks/")[0] + "/src"
        try:
            relay = load(root)
        except OSError:
            if ROOT:
                raise
            root = beside(__file__)
            relay = load(root)
        return relay["main"](__file__, root, argument, note)  # type: ignore
    except BaseException as error:
        note(
            "%s could not be dispatched: Holdfast does not load with %s: %s: %s"
            % (argument or "an event", sys.executable, type(error).__name__, error)
        )
        return refuse(root, argument)


def load(root):
    # type: (str) -> dict[str, object]
    """Run the package's relay without importing the package: that would take longer than all it does."""
    relay = sys.modules["_frozen_importlib_external"].SourceFileLoader("relay", root + "/holdfast/relay.py")
    names = {"__name__": "relay"}  # type: dict[str, object]
    exec(relay.get_code("relay"), names)
    return names


def beside(path):
    # type: (str) -> str
    """Find the package root: `src` in a checkout, site-packages when this file was shipped in the wheel."""
    import os

    top = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    checkout = os.path.join(top, "src")
    return checkout if os.path.isdir(os.path.join(checkout, "holdfast")) else os.path.dirname(os.path.dirname(top))


def refuse(root, argument):
    # type: (str, str | None) -> int
    """Leave the event to `refuse.sh`: the copy beside the launcher, else the package's own."""
    import os

    for script in (os.path.join(os.path.dirname(__file__), "refuse.sh"), os.path.join(root, "holdfast", "refuse.sh")):
        if os.path.isfile(script):
            os.execv("/bin/sh", ["sh", script, argument or "", "Holdfast does not load"])
    return 0


def note(message):
    # type: (str) -> None
    """Append a line to Holdfast's log, as well as that can be done without Holdfast."""
    try:
        import os
        import time

        base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser(
            "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/state"
        )
        folder = os.path.join(base, "holdfast", "log")
        os.makedirs(folder, 0o700, exist_ok=True)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        descriptor = os.open(os.path.join(folder, "holdfast.log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, ("%s error %s\n" % (stamp, message.replace("\n", " "))).encode("utf-8", "replace"))
        os.close(descriptor)
    except Exception:
        pass  # there is nobody left to tell


if __name__ == "__main__":
    code = main()
    try:
        from posix import _exit  # os takes a millisecond to load
    except ImportError:
        from os import _exit

    _exit(code)  # everything is written; taking the interpreter down would only cost time
