"""Run Python programs that begin as forks of one process, because starting an interpreter anew costs five times more.

The process itself runs none of Holdfast: it imports the modules that a fork imported, so that the next one finds them.
So each program starts with nothing but modules, as in a process of its own.

One request per line on stdin: `{"argv": ["/path/program", …], "environ": {…}, "cwd": "…", "stdin": "…"}`.
One answer per line on stdout: `{"code": 0, "out": "…", "err": "…"}`.
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
from typing import Any


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
        answer, imported = run(json.loads(line))
        print(json.dumps(answer), file=answers, flush=True)
        for name in imported:
            if name not in known and not name.startswith("_") and not name.endswith("__main__"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
            known.add(name)


def run(request: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Run a program to its end; return its answer, and the names of the modules that it imported."""
    with contextlib.ExitStack() as stack:
        given, out, err, names = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(4))
        given.write(request["stdin"].encode())
        given.seek(0)
        child = os.fork()
        if not child:
            for number, file in enumerate((given, out, err)):
                os.dup2(file.fileno(), number)
            sys.meta_path.insert(0, Recorder(names.fileno()))
            become(**request)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed = []
        for file in (out, err, names):
            file.seek(0)
            printed.append(file.read().decode("utf-8", "backslashreplace"))
    return {"code": code, "out": printed[0], "err": printed[1]}, printed[2].splitlines()


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
