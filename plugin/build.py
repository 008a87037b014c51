"""Build the Python environment of a plugin copy: `build.py ROOT DATA quietly|wait|now`.

Standard library only. `quietly` is for the background: it does nothing if another process is building or a build failed
a short while ago. `wait` waits for another process and says on stderr what failed. `now` also retries after a recent
failure.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 100.0  # seconds a command waits for another process's build; the model's Bash gives up after 120
LONGEST = 300.0  # seconds one step may take
PAUSES = (3600, 6 * 3600, 24 * 3600)  # seconds until the next automatic try, after one failure, two, and more
SAID = 300  # characters of a tool's error message that are shown
_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_TELLING = re.compile(
    r"(?i)error|.*(not created|No module named|No space left|quota exceeded|Permission denied|Read-only file system)"
)
CHECK = """
import sys
sys.path.insert(0, sys.argv[1])
import holdfast.cli, holdfast.engine, holdfast.dispatch.calls, holdfast.clients.claude.events.models
"""
REMEDIES = (  # the first match counts: with a full disk ensurepip fails too
    (r"No space left|[Qq]uota exceeded", "Make room in {data} or in the folder for temporary files (TMPDIR)."),
    (r"ensurepip|python3?[\d.]*-venv", "Install your system's package for Python's venv (python3-venv), or uv."),
    (r"hash", "The package index gave other files than the plugin names: look at pip's index settings."),
    (r"Permission denied|Read-only|not permitted", "Give yourself access to {data}, and to what is named here."),
)
OTHERWISE = (
    "If this machine reaches packages through a proxy or an index of its own, set HTTPS_PROXY or pip's index-url."
)


class BuildError(Exception):
    """The build failed; the text is the failing tool's error message."""


def main(root: Path, data: Path, how: str) -> int:
    """Build the environment of the plugin at `root` in its data folder `data`; return 0 if it is ready."""
    if how == "quietly":
        with suppress(OSError):
            os.setsid()  # outlive the session
    try:
        os.chdir(data)  # here is no project's uv.toml or pip configuration
        with _locked(data, 0.0 if how == "quietly" else PATIENCE) as alone:
            if not alone:
                return _say(how, "another session is still building the plugin's environment; try again in a minute")
            return _build(root, data, how)
    except OSError as error:
        return _say(how, _note_unusable(root, data, error))


def _build(root: Path, data: Path, how: str) -> int:
    """Build unless the environment is ready, or a build failed recently. Raises OSError if the folder is unusable."""
    digest = wanted(root)
    environment = data / f"env-{digest}"
    if sound(environment):
        return 0
    failed = _failed(data, digest)
    if how != "now" and failed and time.time() < failed["not_before"]:
        return _say(how, failed["text"])
    try:
        by = make(root, environment)
        _note_ready(root, environment, by)
    except (BuildError, OSError) as error:
        shutil.rmtree(environment, ignore_errors=True)
        return _say(how, _note_failed(root, data, digest, failed, str(error)))
    _tidy(data, environment)
    return 0


def wanted(root: Path) -> str:
    """Return the digest in the first line of the requirements, as the shell scripts read it."""
    with (root / "plugin" / "requirements.txt").open(encoding="utf-8") as file:
        return file.readline().split()[2]


def sound(environment: Path) -> bool:
    """Return whether an environment is complete and its interpreter still exists."""
    return (environment / "ready").is_file() and os.access(environment / "bin" / "python", os.X_OK)


def make(root: Path, environment: Path) -> str:
    """Build an environment and load the plugin's code in it; return the tool that built it, `uv` or `pip`.

    Raises BuildError, OSError.
    """
    ways: dict[str, Callable[[Path, Path], None]] = {"uv": _with_uv, "pip": _with_pip}
    if not shutil.which("uv"):
        del ways["uv"]
    problems = []
    for name, way in ways.items():
        shutil.rmtree(environment, ignore_errors=True)
        try:
            way(root, environment)
            _run([str(environment / "bin" / "python"), "-I", "-c", CHECK, str(root / "src")])
        except BuildError as error:
            problems.append(f"{name}: {error}")
        else:
            return name
    raise BuildError("; ".join(problems))


def _with_uv(root: Path, environment: Path) -> None:
    uv = ["uv", "--no-config", "--no-progress"]
    _run([*uv, "venv", "--quiet", "--python", sys.executable, str(environment)])
    install = ["pip", "install", "--quiet", "--python", str(environment / "bin" / "python"), "--no-deps"]
    _run([*uv, *install, "--require-hashes", "--only-binary", ":all:", "--requirements", _requirements(root)])


def _with_pip(root: Path, environment: Path) -> None:
    _run([sys.executable, "-I", "-m", "venv", "--without-pip", str(environment)])
    python = str(environment / "bin" / "python")
    _run([python, "-I", "-m", "ensurepip", "--default-pip"])  # run apart from venv, which wouldn't say why it fails
    pip = [python, "-I", "-m", "pip", "--no-input", "--disable-pip-version-check"]
    install = ["install", "--quiet", "--no-user", "--retries", "2", "--timeout", "20", "--no-deps", "--require-hashes"]
    _run([*pip, *install, "--only-binary", ":all:", "--requirement", _requirements(root)])


def _requirements(root: Path) -> str:
    return str(root / "plugin" / "requirements.txt")


def _run(command: list[str]) -> None:
    """Run a step. Raises BuildError with its error message."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LONGEST
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(str(error)[:SAID]) from error
    if done.returncode:
        raise BuildError(_last_words(done.stderr + done.stdout) or f"{command[0]} ended with {done.returncode}")


def _last_words(text: str) -> str:
    """Return the lines that say what went wrong, with passwords in URLs masked."""
    lines = [" ".join(line.split()) for line in _CREDENTIALS.sub("//…@", text).splitlines() if line.strip()]
    errors = [line for line in lines if _TELLING.match(line)]
    return " ".join(errors[:2] or lines[-2:])[:SAID]


def _note_ready(root: Path, environment: Path, by: str) -> None:
    """Write the file `ready`, without which the environment doesn't count."""
    manifest = json.loads((root / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    python = environment / "bin" / "python"
    facts = {"version": manifest.get("version", ""), "root": str(root), "interpreter": str(python), "built_by": by}
    facts |= {"python": sys.version.split()[0], "at": _stamp(time.time())}
    _put(environment / "ready", facts)


def _note_failed(root: Path, data: Path, digest: str, before: dict[str, Any] | None, words: str) -> str:
    """Record the failure and when to try again; unless it is the same as before, leave a message for the next session.

    Returns:
        The message.
    """
    times = before["times"] + 1 if before else 1
    later = time.time() + PAUSES[min(times, len(PAUSES)) - 1]
    remedy = next((text for pattern, text in REMEDIES if re.search(pattern, words)), OTHERWISE)
    remedy = remedy.replace("{data}", str(data))
    start = f"Holdfast's plugin could not build its Python environment and does nothing without it. {words} — {remedy} "
    command = f"{root}/bin/holdfast --build"
    text = f"{start}It tries again by itself at a session start after {_stamp(later)}; {command} tries at once."
    try:
        _put(data / "failed", {"digest": digest, "times": times, "not_before": later, "words": words, "text": text})
        if not before or before["words"] != words:
            _put(data / "report", {"systemMessage": text})
    except OSError:  # without a record the next session tries at once
        return f"{start}The next session tries again, {command} at once."
    return text


def _note_unusable(root: Path, data: Path, error: OSError) -> str:
    """Return why the data folder can't be used, and leave a message for the next session if possible."""
    place = os.fspath(error.filename or data)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "make room on its disk"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        remedy = "give yourself write access to it"
    else:
        remedy = "put that right"
    reason = f"{place}: {error.strerror}" if Path(place) != data else str(error.strerror)
    text = (
        f"the plugin's environment cannot be built in {data} ({reason}), and without it the plugin does nothing; "
        f"{remedy}, then run {root}/bin/holdfast --build"
    )
    told = {"systemMessage": f"Holdfast: {text}"}
    with suppress(OSError, ValueError):
        if not (data / "report.told").exists() or json.loads((data / "report.told").read_text("utf-8")) != told:
            _put(data / "report", told)
    return text


def _failed(data: Path, digest: str) -> dict[str, Any] | None:
    """Return the record of the last failure, if it was with these requirements; else None."""
    try:
        found = json.loads((data / "failed").read_text("utf-8"))
        known = {"times": int(found["times"]), "words": str(found["words"]), "text": str(found["text"])}
        not_before = float(found["not_before"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if found.get("digest") != digest or not_before > time.time() + PAUSES[-1]:  # the clock was set back
        return None
    return known | {"not_before": not_before}


def _tidy(data: Path, environment: Path) -> None:
    """Remove old messages, and all environments except this one and the newest other one, which may still be in use."""
    for name in ("failed", "report", "report.told", "no-python"):
        (data / name).unlink(missing_ok=True)
    others = [path for path in data.glob("env-*") if path != environment]
    for path in sorted(others, key=lambda path: path.stat().st_mtime)[:-1]:
        shutil.rmtree(path, ignore_errors=True)


def _put(path: Path, facts: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(data: Path, patience: float) -> Iterator[bool]:
    """Hold the lock on the data folder; yield False if another process holds it for longer than `patience` seconds."""
    with (data / "lock").open("w") as file:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(0.1)
            else:
                yield True
                return


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def _say(how: str, text: str) -> int:
    if how != "quietly":
        sys.stderr.write(f"holdfast: {text}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
