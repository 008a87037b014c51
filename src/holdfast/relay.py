"""Having an event answered: by the warm server, else by Holdfast loaded into this process.

The entrypoint runs this file alone, from its bytecode and without its package: until it goes cold it may import `posix`
and `_socket` and nothing else, for each further module costs every event.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Mapping

LIFE_TIMEOUT_S = 0.05
"""Seconds the server has for its sign of life, one byte; else it hangs."""
READY_TIMEOUT_S = 1.0
"""Seconds it has from then on to say that a child is ready, or that its turn is still to come."""

TURNS = 16
"""Times it may say so, every 0.3 seconds; then the event goes cold while there is time for it."""

ANSWER_TIMEOUT_S = 21.0
"""Seconds the child has from `GO` on to choose handlers (`engine.PREPARE_LIMIT_S`) or to answer; else it hangs."""

ALIVE, WAIT, READY_NOW, GO = b"!", b".", b"r", b"g"
"""The words of the protocol: the server lives, your turn is still to come, a child is ready; answer the event."""

LONGER = b"\xfe"
"""What the child says once handlers are chosen: in two more bytes, the seconds it has instead of `ANSWER_TIMEOUT_S`."""

WRITTEN = b"\xff"
"""What the child says, before its exit code, once the reply is written: from then on nobody else may refuse."""

STRICT_EVENTS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion")
"""The events on which a handler may be strict: what is not answered may have to be refused."""

LAST_WORD_S = 2.0
"""How long the child has to refuse once the client has ended us, or its time is up."""

OFF = (b"off", b"0", b"no", b"false")
"""What `HOLDFAST_SERVER` may hold to switch the server off."""

FOLDERS = (b"HOME", b"XDG_CONFIG_HOME", b"XDG_STATE_HOME", b"XDG_DATA_HOME", b"XDG_CACHE_HOME")
"""The variables that decide where Holdfast's own folders are; each set of them has a server of its own."""

SPACES = ("mnt", "net", "user", "pid")
"""The namespaces (Linux) that an event must not leave: who asks may be in a sandbox."""


class Died(Exception):
    """The server's process for this event did not answer it, after it was handed over; the text says why."""


class Terminated(BaseException):
    """The client ended us."""


def main(entry: str, root: str, argument: str | None, note: "Callable[[str], None]") -> int:
    """Answer the event; or, with `--serve` in its place, be the server that is asked here.

    The launcher, a copy of `hooks/dispatch.py` that outlives an upgrade, calls this: what it takes stays as it is.

    Args:
        entry: the entrypoint's path.
        root: the folder that holds the package.
        argument: the event's name on the command line, if any.
        note: notes an error where Holdfast itself cannot.

    Returns:
        The exit code.
    """
    if argument == "--serve":
        return cold(entry, root, argument, note)
    try:
        if argument in STRICT_EVENTS:
            _catch_sigterm()
        code = ask(entry, argument)
    except Died as error:
        note(f"{argument or 'an event'} is lost: the warm server did not answer it: {error}")
        return refuse(root, argument, str(error))
    except Terminated:
        return refuse(root, argument, "the client ended it")
    return cold(entry, root, argument, note) if code is None else code


def refuse(root: str, argument: str | None, why: str) -> int:
    """Leave an event that nobody answered to `refuse.sh`, which refuses it if a strict handler is known.

    Args:
        root: the folder that holds the package.
        argument: the event's name on the command line.
        why: what happened, in plain letters; the refusal says so.

    Returns:
        The exit code, 0, where no strict handler is possible; else this process becomes the shell's.

    Raises:
        OSError: there is no `refuse.sh`. The launcher has a copy of its own.
    """
    if argument in STRICT_EVENTS:
        import posix

        script = root + "/holdfast/refuse.sh"
        posix.stat(script)
        posix.execv("/bin/sh", ["sh", script, argument, why])
    return 0


def _catch_sigterm() -> None:
    """Have `Terminated` raised, once, when the client ends us."""
    builtin = sys.modules["_signal"]  # every interpreter starts with it; `signal` would load `enum`

    def end(signum: int, frame: object) -> None:
        builtin.signal(signum, builtin.SIG_IGN)  # what follows is the refusal
        raise Terminated

    builtin.signal(builtin.SIGTERM, end)


def cold(entry: str, root: str, argument: str | None, note: "Callable[[str], None]") -> int:
    """Load Holdfast into this process and let it answer; what it cannot is a log entry and `refuse`. See `main`."""
    try:
        if sys.flags.no_site:
            import site

            site.main()  # restores a virtual environment's packages, which -S leaves out
        if root not in sys.path:  # site-packages must not come before the standard library
            sys.path.insert(0, root)
        name = "holdfast.server" if argument == "--serve" else "holdfast.engine"
        answer = __import__(name, fromlist=["main"]).main
    except BaseException as error:  # noqa: BLE001 - nothing that is wrong with Holdfast may refuse a tool call
        what = f"{argument or 'an event'} could not be dispatched"
        note(f"{what}: Holdfast does not load with {sys.executable}: {type(error).__name__}: {error}")
        return refuse(root, argument, "Holdfast does not load")
    try:
        return int(answer(argument, entry))
    except BaseException as error:  # noqa: BLE001 - see above; what the engine can refuse it refuses itself
        note(f"{argument or 'an event'} failed inside Holdfast: {type(error).__name__}: {error}")
        return refuse(root, argument, "Holdfast failed")


def ask(entry: str, argument: str | None) -> int | None:
    """Let the warm server answer with our descriptors, environment and directory.

    Nobody has read stdin when it cannot, for its child waits for our word, `GO`: before that any doubt means None,
    after it the event is answered once or, should the child die or hang, not at all.

    Args:
        entry: the entrypoint that asks.
        argument: the event's name on the command line.

    Returns:
        The exit code, or None where the event is still to be answered.

    Raises:
        Died: see there.
    """
    try:
        import posix

        environ = posix.environ
        where = b"" if off(environ) else address(entry, environ)
        if not where or not private(where):
            return None
        import _socket

        server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        server.settimeout(LIFE_TIMEOUT_S)
        server.connect(where)
        if server.fileno() < 3:  # one of the standard descriptors was closed, and its number is ours now
            return None
        if not ours(server):
            return None
        mask = posix.umask(0o77)
        posix.umask(mask)
        words = [b"event", (argument or "").encode("utf-8", "surrogateescape"), posix.getcwdb(), b"%d" % mask]
        request = b"\0".join(words + [name + b"=" + value for name, value in environ.items()])
        server.sendall(b"%8d" % len(request) + request)
        if server.recv(1) != ALIVE:
            return None
        server.settimeout(READY_TIMEOUT_S)
        for _ in range(TURNS):
            said = server.recv(1)
            if said != WAIT:
                break
        if said != READY_NOW:
            return None
        passed = b"".join([number.to_bytes(4, sys.byteorder) for number in (0, 1, 2)])
        # Not before: one that hangs would keep the client's pipes open.
        server.sendmsg([GO], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    except Exception:  # noqa: BLE001 - whatever it is, the event is still to be answered
        return None
    try:
        return _code(server)
    except OSError as error:
        raise Died("its process ended") from error


def _code(server: "socket") -> int:
    """Wait until the event is answered; return the exit code. Raises Died, OSError."""
    limit, why, written = ANSWER_TIMEOUT_S, "", False
    longer = None  # of the two bytes of a limit those that came; the client may end us between any two bytes
    while True:
        server.settimeout(LAST_WORD_S if why else limit)
        try:
            said = _byte(server)
        except (Terminated, TimeoutError) as error:
            if why:
                said = b""
                break
            why = "its time was up" if isinstance(error, TimeoutError) else "the client ended it"
            server.shutdown(1)  # SHUT_WR: the server ends the child, which holds the client's stdout and may refuse
            continue
        if longer is not None and said:
            longer += said
            if len(longer) == 2:
                limit, longer = int.from_bytes(longer, "big"), None
        elif said == LONGER:
            longer = b""
        elif said == WRITTEN:
            written = True
        else:
            break
    if said:
        return ord(said)
    if written:
        return 0
    raise Died(why or "its process ended")


def _byte(server: "socket") -> bytes:
    """Return the next byte, or nothing at the end. Raises OSError, and Terminated as long as no byte was taken.

    `Terminated` comes between any two steps of ours, also when the system has given us a byte and we don't have it yet.
    What follows would be misread: half of a limit is no exit code. So we wait without taking anything, and take the
    byte while the signal has to wait.
    """
    import _socket

    builtin = sys.modules["_signal"]
    builtin.pthread_sigmask(builtin.SIG_UNBLOCK, (builtin.SIGTERM,))
    server.recv(1, _socket.MSG_PEEK)
    builtin.pthread_sigmask(builtin.SIG_BLOCK, (builtin.SIGTERM,))
    return server.recv(1)


def off(environ: "Mapping[bytes, bytes]") -> bool:
    """Tell whether an environment switches the server off (`HOLDFAST_SERVER`)."""
    return environ.get(b"HOLDFAST_SERVER", b"").lower() in OFF


def address(entry: str, environ: "Mapping[bytes, bytes]") -> bytes:
    """Return where the server of this user, entrypoint, interpreter, sandbox and set of folders listens.

    Args:
        entry: the entrypoint's path.
        environ: the environment, as `posix.environ` has it.

    Returns:
        An absolute path, or nothing where there is none that a socket can have.
    """
    import posix

    base = environ.get(b"XDG_STATE_HOME", b"")
    if not base and environ.get(b"HOME"):
        base = environ[b"HOME"] + (b"/Library/Application Support" if sys.platform == "darwin" else b"/.local/state")
    try:
        seen = [posix.stat("/proc/self/ns/" + each).st_ino for each in SPACES] + [posix.stat("/").st_ino]
    except OSError:  # no Linux
        seen = []
    folders = [environ.get(name) for name in FOLDERS]
    identity = (posix.getuid(), entry, sys.executable, sys.getfilesystemencoding(), folders, seen)
    # A remainder is digest enough for names that nobody chooses: hashlib takes longer to load than all this.
    key = int.from_bytes(repr(identity).encode("utf-8", "replace"), "big") % 18446744073709551557
    where = base + b"/holdfast/server/%016x" % key
    return where if base[:1] == b"/" and len(where) < 100 else b""  # a socket's name holds 104 bytes, on some 108


def private(where: bytes) -> bool:
    """Tell whether a socket lies where only we can have put it. Raises OSError where there is none."""
    import posix

    folder = posix.stat(where.rpartition(b"/")[0])
    return folder.st_uid == posix.getuid() and not folder.st_mode & 0o077


def ours(peer: "socket") -> bool:
    """Tell whether who is at the other end of a connection is this user. Raises OSError."""
    import _socket
    import posix

    if not hasattr(_socket, "SO_PEERCRED"):
        return True  # nobody else can open what lies in a folder that is ours alone
    said = peer.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(said[4:8], sys.byteorder) == posix.getuid()
