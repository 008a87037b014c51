"""The table of checks: each exists, says what it is for, and does no harm to the others when it fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast import checks
from holdfast.checks import Finding, notice, ok, problem
from holdfast.errors import StateError
from holdfast.sessions.workspace import Workspace
from tests.doctoring import examine


def broken(error: BaseException) -> SimpleNamespace:
    def findings(project: Workspace) -> list[Finding]:
        raise error

    return SimpleNamespace(findings=findings)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (StateError(Path("/x"), "is odd"), "couldn't be checked: /x: is odd"),
        (PermissionError(13, "denied", "/y"), "couldn't be checked: [Errno 13] denied: '/y'"),
        (KeyError("ours"), "the check failed because of a bug in Holdfast: KeyError: 'ours'"),
    ],
)
def test_a_check_that_fails_costs_only_itself(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, words: str
) -> None:
    """Whatever goes wrong in one is a problem it names, and the next one is run."""
    sound = SimpleNamespace(findings=lambda project: [ok("x")])
    modules = {"holdfast.checks.bad": broken(error), "holdfast.checks.good": sound}
    monkeypatch.setattr(checks, "import_module", modules.__getitem__)

    bad, good = checks.run(Workspace.open(root), ("bad", "good"))

    assert (bad.level, bad.check) == ("problem", "bad")
    assert words in bad.text
    assert good == Finding("ok", "x", check="good")


@pytest.mark.usefixtures("anybody")
def test_a_check_that_was_refused_says_what_opens_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No finding is without a remedy."""
    shut = tmp_path / "shut"
    shut.mkdir(0o000)
    errors = [PermissionError(13, "Permission denied", str(shut / "x")), StateError(shut / "x", "is odd")]
    errors += [StateError(tmp_path / "open", "is odd"), OSError("whatever")]
    modules = {f"holdfast.checks.{number}": broken(error) for number, error in enumerate(errors)}
    monkeypatch.setattr(checks, "import_module", modules.__getitem__)

    found = list(checks.run(Workspace.open(root), ("0", "1", "2", "3")))

    opened = f"chmod u+rwx {shut}"
    assert [each.remedy for each in found] == [opened, opened, f"look at {tmp_path / 'open'}", "holdfast status"]


def test_what_can_be_mended_is_mended() -> None:
    """Each fix says what it did; one that finds nothing left to do says nothing, one that fails says why."""

    def fail() -> str:
        raise StateError(Path("/x"), "is locked")

    def refuse() -> str:
        raise PermissionError(13, "Permission denied", "/etc/x")

    found = [
        ok("fine"),
        problem("a", "run a"),
        problem("b", "run b", fail),
        problem("c", "run c", refuse),
        problem("d", "run d", lambda: "did d"),
        notice("e", "run e", lambda: ""),
    ]

    assert [(each.text, done, well) for each, done, well in checks.mend(found)] == [
        ("b", "couldn't be repaired: /x: is locked", False),
        ("c", "couldn't be repaired: [Errno 13] Permission denied: '/etc/x'", False),
        ("d", "did d", True),
    ]


@pytest.mark.parametrize("name", list(checks.CHECKS))
def test_looking_changes_nothing(root: Path, home: Path, name: str) -> None:
    """A check without --fix needs and writes nothing, neither in a project nor in an empty home."""

    def seen() -> dict[str, float]:
        return {str(path): path.lstat().st_mtime for top in (root, home) for path in top.rglob("*")}

    before = seen()
    texts = [found.text for found in examine(name, root)]
    assert seen() == before
    assert not [text for text in texts if text.startswith(("this couldn't be checked", "the check failed"))]
