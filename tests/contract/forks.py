"""Run Python programs that begin as forks of one process, because starting an interpreter anew costs five times more.

The process itself runs none of Holdfast: it imports the modules that a fork imported, so that the next one finds them.
So each program starts with nothing but modules, as in a process of its own.

One list of requests per line on stdin: `[{"argv": ["/program", …], "environ": {…}, "cwd": "…", "stdin": "…"}, …]`.
They run at once, each in a process group of its own.
One list of answers per line on stdout: `[{"pid": 4711, "code": 0, "out": "…", "err": "…"}, …]`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import sys
import tempfile
import time
from typing import IO, Any


class Recorder:
    """Write down the name of each module that is about to be imported."""

    def __init__(self, file: int) -> None:
        self.file = file

    def find_spec(self, name: str, *_: object) -> None:
        """Find nothing."""
        os.write(self.file, f"{name}\n".encode())


def main() -> None:
    """Answer requests until stdin ends."""
    sys.path.pop(0)  # this file's folder
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    known = set[str]()
    for line in requests:
        with contextlib.ExitStack() as stack:
            programs = [Program(each, stack) for each in json.loads(line)]
            for each in programs:
                each.go()
            print(json.dumps([each.answer() for each in programs]), file=answers, flush=True)
            names = [name for each in programs for name in each.imported()]
        for name in names:
            if name not in known and not name.startswith("_") and not name.endswith("__main__"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
            known.add(name)


class Program:
    """A program that waits in a process of its own until it may go."""

    def __init__(self, request: dict[str, Any], stack: contextlib.ExitStack) -> None:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]  # noqa: SIM115 - the stack closes it
        self.given, self.out, self.err, self.names = files
        self.given.write(request["stdin"].encode())
        self.given.seek(0)
        ours, self.start = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.setpgid(0, 0)
            os.close(self.start)
            os.read(ours, 1)
            os.close(ours)
            for number, file in enumerate(files[:3]):
                os.dup2(file.fileno(), number)
            sys.meta_path.insert(0, Recorder(self.names.fileno()))
            become(**request)
        os.close(ours)

    def go(self) -> None:
        """Let it start."""
        os.write(self.start, b"x")
        os.close(self.start)

    def answer(self) -> dict[str, Any]:
        """Wait for its end; return what it printed."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return {"pid": self.pid, "code": code, "out": text(self.out), "err": text(self.err)}

    def imported(self) -> list[str]:
        """Return the names of the modules that it imported."""
        return text(self.names).splitlines()


def text(file: IO[bytes]) -> str:
    """Return what was written into a file."""
    file.seek(0)
    return file.read().decode("utf-8", "backslashreplace")


def become(argv: list[str], environ: dict[str, str], cwd: str, stdin: str) -> None:
    """Run the program in this process, and end it."""
    del stdin  # it is file descriptor 0
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    os.umask(0o022)
    os.chdir(cwd)
    code: object = 1
    try:
        sys.argv = argv
        runpy.run_path(argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001 - printed, as the interpreter does
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
