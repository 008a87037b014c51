"""Have an event answered by the warm server or, failing that, by Holdfast loaded into this process ("cold").

The entrypoint runs this file alone, from its bytecode and without its package. Until it goes cold it may import only
`posix` and `_socket`, because each further module costs every event.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Mapping
    from types import ModuleType

LIFE_TIMEOUT_S = 0.05
"""Time for the server's sign of life, one byte; after that it counts as hanging."""
READY_TIMEOUT_S = 1.0
"""Time from then on until the server must say that a child is ready, or that your turn is still to come."""

TURNS = 16
"""How often the server may say `WAIT`, every 0.3 seconds; then the event goes cold while there is still time."""

ANSWER_TIMEOUT_S = 21.0
"""Time from `GO` until the child must have answered, or have chosen handlers (`engine.PREPARE_LIMIT_S`) and said so."""

ALIVE, WAIT, READY_NOW, GO = b"!", b".", b"r", b"g"
"""The protocol's messages. The server's: it lives, your turn is still to come, a child is ready. Ours: answer."""

LONGER = b"\xfe"
"""The child's message once handlers are chosen; two more bytes give its new limit in seconds (`ANSWER_TIMEOUT_S`)."""

WRITTEN = b"\xff"
"""The child's message, before its exit code, once the reply is written: from then on nobody else may refuse."""

STRICT_EVENTS = (
    *("PreToolUse", "PreSkillShellCommand", "PermissionRequest"),
    *("UserPromptSubmit", "UserPromptExpansion"),
)
"""The events on which a handler may be strict: one that isn't answered may have to be refused."""

LAST_WORD_S = 2.0
"""Time for the child to refuse once the client has ended this process, or the child's time is up."""

PROGRAMS = {"--serve": "holdfast.server", "--status": "holdfast.files.status_file"}
"""What is loaded for an argument that is no event: the server, or what prints the client's status line."""

ASKED = ["--cold"]
"""What `relay.c` puts behind the event's name once it has asked the server and got no answer."""

OFF = (b"off", b"0", b"no", b"false")
"""The values of `HOLDFAST_SERVER` that switch the server off."""

FOLDERS = (b"HOME", b"XDG_CONFIG_HOME", b"XDG_STATE_HOME", b"XDG_DATA_HOME", b"XDG_CACHE_HOME")
"""The variables that decide where Holdfast's folders are; each combination of values has its own server."""

SPACES = ("mnt", "net", "user", "pid")
"""The Linux namespaces that an event must not leave, because its process may run in a sandbox."""


class Died(Exception):
    """The event was handed over, but the server's process didn't answer it; the text says why."""


class Terminated(BaseException):
    """The client ended this process."""


def main(entry: str, root: str, argument: str | None, note: object = None) -> int:
    """Answer the event, or run one of `PROGRAMS`.

    The launcher, a copy of `hooks/dispatch.py` that outlives an upgrade, calls this, so the parameters never change.

    Args:
        entry: the entrypoint's path.
        root: the folder that holds the package.
        argument: the event's name on the command line, if any, or one of `PROGRAMS`.
        note: not used; an installed launcher may pass anything.

    Returns:
        The exit code.
    """
    if argument in PROGRAMS:
        return cold(entry, root, argument)
    try:
        if argument in STRICT_EVENTS:
            _catch_sigterm()
        code = None if sys.argv[2:] == ASKED else ask(entry, argument)
    except Died as error:
        return refuse(root, argument, str(error), f"is lost: the warm server did not answer it: {error}")
    except Terminated:
        return refuse(root, argument, "the client ended it")
    return cold(entry, root, argument) if code is None else code


def refuse(root: str, argument: str | None, why: str, failure: str = "") -> int:
    """Hand an event that nobody answered to `refuse.sh`, which refuses it if a strict handler is known.

    Args:
        root: the folder that holds the package.
        argument: the event's name on the command line.
        why: what happened, in plain ASCII letters; the refusal quotes it.
        failure: what to log, a sentence without its subject, the event.

    Returns:
        The exit code 0 if there is nothing to do; otherwise the shell replaces this process.

    Raises:
        OSError: there is no `refuse.sh`. The launcher then uses its own copy.
    """
    if failure or argument in STRICT_EVENTS:
        import posix

        script = root + "/holdfast/refuse.sh"
        posix.stat(script)
        line = failure[:999].replace("\0", " ").encode("utf-8", "replace")
        posix.execv("/bin/sh", ("sh", script, argument or "", why, "", "", line))
    return 0


def _catch_sigterm() -> None:
    """Raise `Terminated`, once, when the client ends this process."""
    builtin = sys.modules["_signal"]  # loaded in every interpreter; `signal` would load `enum`

    def end(signum: int, frame: object) -> None:
        builtin.signal(signum, builtin.SIG_IGN)  # don't interrupt the refusal that follows
        raise Terminated

    builtin.signal(builtin.SIGTERM, end)


def cold(entry: str, root: str, argument: str | None) -> int:
    """Load Holdfast into this process and let it answer. If that fails, log it and `refuse`. Arguments: see `main`.

    Raises:
        BaseException: Holdfast doesn't load. The launcher then uses its own copy of `refuse.sh`, which knows how to
            install Holdfast again.
    """
    if sys.flags.no_site:
        import site

        site.main()  # restores a virtual environment's packages, which -S leaves out
    if root not in sys.path:  # site-packages must not come before the standard library
        sys.path.insert(0, root)
    if argument not in PROGRAMS:
        import gc

        gc.disable()  # a process this short has little garbage, and each search takes time while modules load
    name = PROGRAMS.get(argument or "", "holdfast.engine")
    answer = __import__(name, fromlist=["main"]).main
    try:
        return int(answer(argument, entry))
    except BaseException as error:  # noqa: BLE001 - the engine has tried to refuse already
        failure = f"failed inside Holdfast: {type(error).__name__}: {error}"
        return refuse(root, argument, "Holdfast failed", failure)


def ask(entry: str, argument: str | None) -> int | None:
    """Let the warm server answer, with this process's standard streams, environment and working directory.

    The server's child reads stdin only after `GO`. Before that, any doubt gives None, and stdin is still unread. After
    it, the event is answered once or, if the child dies or hangs, not at all.

    Args:
        entry: the entrypoint's path.
        argument: the event's name on the command line.

    Returns:
        The exit code, or None if the event must still be answered.

    Raises:
        Died: the event was handed over and not answered.
    """
    try:
        import posix

        environ = posix.environ
        where = b"" if off(environ) else address(entry, environ)
        if not where or not private(where):
            return None
        _socket = _load_socket()
        server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        server.settimeout(LIFE_TIMEOUT_S)
        server.connect(where)
        if server.fileno() < 3:  # a standard stream was closed, and the socket has its number
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
        # The streams go with GO and not before: a server that hangs would keep the client's pipes open. From GO on only
        # `_byte` hears SIGTERM: the child may refuse, and a refusal of ours beside it would make both unreadable.
        _hold_sigterm(held=True)
        server.sendmsg([GO], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    except Exception:  # noqa: BLE001 - whatever happened, the event must still be answered
        _hold_sigterm(held=False)
        return None
    try:
        return _code(server)
    except OSError as error:
        raise Died("its process ended") from error


def _hold_sigterm(*, held: bool) -> None:
    """Let SIGTERM wait, or through again."""
    builtin = sys.modules["_signal"]
    builtin.pthread_sigmask(builtin.SIG_BLOCK if held else builtin.SIG_UNBLOCK, (builtin.SIGTERM,))


def _load_socket() -> "ModuleType":
    """Load `_socket` from the folder of the interpreter's extension modules.

    `import` would first search another folder and list this one, which takes a third of the time.
    """
    if "_socket" in sys.modules:
        return sys.modules["_socket"]
    external = sys.modules["_frozen_importlib_external"]
    try:
        file = sys.path[-1] + "/_socket" + external._imp.extension_suffixes()[0]
        loaded: ModuleType = sys.modules["_frozen_importlib"]._load(external.spec_from_file_location("_socket", file))
    except Exception:  # noqa: BLE001 - built in, elsewhere, or this interpreter has another import system
        import _socket

        return _socket
    return loaded


def _code(server: "socket") -> int:
    """Wait until the event is answered; return the exit code. Raises Died, OSError."""
    limit, why, written = ANSWER_TIMEOUT_S, "", False
    longer = None  # the bytes of a new limit read so far; the client may end this process between any two
    while True:
        server.settimeout(LAST_WORD_S if why else limit)
        try:
            said = _byte(server)
        except ConnectionError:  # the child is gone; it may have written its reply
            said = b""
            break
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
    """Return the next byte, or nothing at the end. Raises OSError, and Terminated only if no byte was consumed.

    The signal can arrive between any two steps, even when `recv` has consumed a byte and not returned it yet. The rest
    would then be misread: half of a limit is no exit code. So this waits without consuming anything, and consumes the
    byte while the signal is blocked.
    """
    import _socket

    _hold_sigterm(held=False)
    server.recv(1, _socket.MSG_PEEK)
    _hold_sigterm(held=True)
    return server.recv(1)


def off(environ: "Mapping[bytes, bytes]") -> bool:
    """Return whether an environment switches the server off (`HOLDFAST_SERVER`)."""
    return environ.get(b"HOLDFAST_SERVER", b"").lower() in OFF


def address(entry: str, environ: "Mapping[bytes, bytes]") -> bytes:
    """Return the socket's path of the server for this user, entrypoint, interpreter, sandbox and set of folders.

    `relay.c` computes the same path. A relay stays as it was installed when the package is upgraded, so one of another
    version goes cold if this changes.

    Args:
        entry: the entrypoint's path.
        environ: the environment, as in `posix.environ`.

    Returns:
        An absolute path, or empty if the path would be relative or too long for a socket.
    """
    import posix

    base = environ.get(b"XDG_STATE_HOME", b"")
    if not base and environ.get(b"HOME"):
        base = environ[b"HOME"] + (b"/Library/Application Support" if sys.platform == "darwin" else b"/.local/state")
    try:
        seen = [posix.stat("/proc/self/ns/" + each).st_ino for each in SPACES] + [posix.stat("/").st_ino]
    except OSError:  # no Linux
        seen = []
    words = [b"%d" % posix.getuid()]
    words += [text.encode("utf-8", "surrogateescape") for text in (entry, sys.executable, sys.getfilesystemencoding())]
    words += [b"-" if value is None else b"=" + value for value in map(environ.get, FOLDERS)]
    words += [b"%d" % inode for inode in seen]
    # A remainder is digest enough, because nobody chooses these names; loading hashlib would take longer than all this.
    key = int.from_bytes(b"\0".join([*words, b""]), "big") % 18446744073709551557
    where = base + b"/holdfast/server/%016x" % key
    return where if base[:1] == b"/" and len(where) < 100 else b""  # the limit is 104 bytes, on some systems 108


def private(where: bytes) -> bool:
    """Return whether a socket's folder belongs to this user alone. Raises OSError if there is no such folder."""
    import posix

    folder = posix.stat(where.rpartition(b"/")[0])
    return folder.st_uid == posix.getuid() and not folder.st_mode & 0o077


def ours(peer: "socket") -> bool:
    """Return whether the other end of a connection is a process of this user. Raises OSError."""
    import _socket
    import posix

    if not hasattr(_socket, "SO_PEERCRED"):
        return True  # `private` was true: nobody else can open a socket in that folder
    said = peer.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(said[4:8], sys.byteorder) == posix.getuid()
