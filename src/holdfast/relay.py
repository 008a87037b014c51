"""Start Holdfast in this process, because no server answers the event ("cold"), or run one of its other programs.

The entrypoint runs this file alone, from its bytecode and without its package. `relay.c` asks the server.
"""

import sys

PROGRAMS = {"--serve": "holdfast.server", "--status": "holdfast.files.status_file"}
"""Arguments that aren't events, with the module that each one loads: the server, or the client's status line."""

ASKED = ["--start-server"]
"""The argument that `relay.c` adds after the event's name if it has looked for a server and found none."""


def main(entry: str, root: str, argument: "str | None", note: object = None) -> int:
    """Answer the event, or run one of `PROGRAMS`.

    The launcher, a copy of `hooks/dispatch.py` that outlives an upgrade, calls this, so the parameters never change.

    Args:
        entry: the entrypoint's path.
        root: the folder that holds the package.
        argument: the event's name on the command line, if any, or one of `PROGRAMS`.
        note: not used; an installed launcher may pass anything.

    Returns:
        The exit code; 1 if Holdfast failed and could not refuse, which the registered command does then.

    Raises:
        BaseException: Holdfast doesn't load. The launcher then uses its own copy of `refuse.sh`, which knows how to
            install Holdfast again.
    """
    if argument and argument not in PROGRAMS:
        _refuse_on_sigterm(root, argument)
    if sys.flags.no_site:
        import site

        site.main()  # restores a virtual environment's packages, which -S leaves out
    if root not in sys.path:  # site-packages must not come before the standard library
        sys.path.insert(0, root)
    if argument not in PROGRAMS:
        import gc

        gc.disable()  # a process this short has little garbage, and each search takes time while modules load
        entry = entry if sys.argv[2:] == ASKED else ""
    name = PROGRAMS.get(argument or "", "holdfast.engine")
    answer = __import__(name, fromlist=["main"]).main
    try:
        return int(answer(argument, entry))
    except BaseException:  # noqa: BLE001 - the engine has logged it
        return 1


def _refuse_on_sigterm(root: str, event: str) -> None:
    """Become `refuse.sh` if the client ends this process while Holdfast loads; the engine has a handler of its own.

    `refuse.sh` knows on which events a handler may be strict. On others it says nothing.
    """
    import posix

    builtin = sys.modules["_signal"]  # loaded in every interpreter; `signal` would load `enum`

    def end(signum: int, frame: object) -> None:
        builtin.signal(signum, builtin.SIG_IGN)  # don't interrupt the refusal
        posix.execv("/bin/sh", ("sh", root + "/holdfast/refuse.sh", event, "the client ended it"))

    builtin.signal(builtin.SIGTERM, end)
