"""Run one check of the doctor, and do what its findings say."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast import checks
from holdfast.files import lock, trust
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    import pytest

    from holdfast.checks import Finding


def examine(name: str, root: Path) -> list[Finding]:
    """Return what a check finds in a project."""
    project = Workspace.open(root, trusted=trust.config_trusted(root))
    try:
        return list(checks.run(project, (name,)))
    finally:
        project.close()


def only(name: str, root: Path, level: str) -> Finding:
    """Return the only finding of a check that isn't `ok`; assert its level, and that it has a remedy."""
    bad = [found for found in examine(name, root) if found.level != "ok"]
    assert [found.level for found in bad] == [level], bad
    assert bad[0].check == name
    assert bad[0].remedy
    return bad[0]


def healthy(name: str, root: Path) -> str:
    """Assert that a check finds nothing wrong, and return what it says."""
    found = examine(name, root)
    assert {each.level for each in found} == {"ok"}, found
    return "\n".join(each.text for each in found)


def obey(found: Finding, root: Path) -> None:
    """Run the command that a finding names, as a person pastes it into a shell."""
    for part in found.remedy.split(" && "):
        words = shlex.split(part)
        if words[0] != "holdfast":
            subprocess.run(["/bin/sh", "-c", part], cwd=root, check=True)
        elif words[1] == "doctor":
            mend(found.check, root)
        else:
            holdfast(*words[1:], *(["--yes"] if words[2:3] == ["trust"] else []), root=root)


def mend(name: str, root: Path) -> list[str]:
    """Let a check repair what it can, as `holdfast doctor --fix` does, and return what was done."""
    project = Workspace.open(root, trusted=trust.config_trusted(root))
    try:
        done = list(checks.mend(checks.run(project, (name,))))
    finally:
        project.close()
    assert all(succeeded for _, _, succeeded in done), done
    return [said for _, said, _ in done]


def mended_under_lock(monkeypatch: pytest.MonkeyPatch, check: ModuleType, file: Path) -> list[tuple[Path, bool, bool]]:
    """Watch the locks a check takes.

    Args:
        monkeypatch: undoes it.
        check: the check's module.
        file: what it mends.

    Returns:
        For each lock that was let go: its folder, and whether the file was mended before it was taken and by its end.
    """
    broken = content(file)
    seen: list[tuple[Path, bool, bool]] = []

    @contextmanager
    def hold(folder: Path) -> Iterator[None]:
        before = content(file)
        with lock.locked(folder):
            yield
            seen.append((folder, before != broken, content(file) != broken))

    monkeypatch.setattr(check, "locked", hold)
    return seen


def content(file: Path) -> bytes | None:
    """Return a file's content, or None if there is no file."""
    return file.read_bytes() if file.exists() else None
