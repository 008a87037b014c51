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
    root = ROOT or __file__.rpartition("/hooks/")[0] + "/src"
    try:
        try:
            relay = load(root)
        except OSError:
            if ROOT:
                raise
            root = beside(__file__)
            relay = load(root)
        return relay["main"](__file__, root, argument, None)  # type: ignore  # an older relay needs `note`
    except BaseException as error:
        return refuse(root, argument, "%s: %s" % (type(error).__name__, error))


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


def refuse(root, argument, why):
    # type: (str, str | None, str) -> int
    """Leave the event to `refuse.sh`, which logs why: the copy beside the launcher, else the package's own."""
    import os

    why = "could not be dispatched: Holdfast does not load with %s: %s" % (sys.executable, why)
    if not ROOT:  # run by hand, from a checkout; a registered command drops this
        os.write(
            2,
            (
                "%s\nIt needs Python 3.11 or newer and its packages. To install both: uv tool install ., or make demo\n"
                % why
            ).encode("utf-8", "replace"),
        )
    failure = why[:999].replace("\0", " ").encode("utf-8", "replace")
    for folder in (os.path.dirname(__file__), root + "/holdfast"):
        script = folder + "/refuse.sh"
        if os.path.isfile(script):
            os.execv("/bin/sh", ("sh", script, argument or "", "Holdfast does not load", "", "", failure))
    return 0


if __name__ == "__main__":
    code = main()
    try:
        from posix import _exit  # os takes a millisecond to load
    except ImportError:
        from os import _exit

    _exit(code)  # everything is written; taking the interpreter down would only cost time
