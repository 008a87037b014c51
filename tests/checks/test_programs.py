"""The check starts the programs that settings name, and says what keeps them from answering."""

from __future__ import annotations

import shlex
import shutil
import sys
import venv
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.install import install, launcher
from tests.doctoring import examine, healthy, mend, obey, only

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def installed(root: Path) -> Path:
    """The launcher, named by the user's settings."""
    install.install(scopes.target("user", root))
    return paths.launcher()


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_both_programs_start_and_answer(installed: Path, root: Path) -> None:
    """They are really started: the launcher answers an event without a payload, the command tells its version."""
    said = healthy("programs", root)
    run, command, _ = launcher.programs()
    assert [f"{path} starts {sys.executable} and answers" in said for path in (run, command)] == [True, True]
    assert not paths.log_file().exists()  # of the user's


def remove(path: Path) -> None:
    path.unlink()


def forbid(path: Path) -> None:
    path.chmod(0o644)


def text_of(program: Path, interpreter: str) -> str:
    return launcher.texts(interpreter)[paths.entrypoint() if program == paths.launcher() else program]


def lose_interpreter(path: Path) -> None:
    path.write_text(text_of(path, "/gone/bin/python"), "utf-8")


def lose_interpreter_with_blank(path: Path) -> None:
    path.write_text(text_of(path, "/gone away/bin/python"), "utf-8")


def change(path: Path) -> None:
    path.write_text(path.read_text("utf-8") + "\n# mine\n", "utf-8")


def crash(path: Path) -> None:
    rewrite(path, "import sys\n", "import sys\nsys.exit(3)\n")


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (remove, "is missing, but "),
        (forbid, "isn't executable, but "),
        (lose_interpreter, "starts /gone/bin/python, which is missing, but "),
        (lose_interpreter_with_blank, "starts /gone away/bin/python, which is missing, but "),
        (change, "was written by another version of Holdfast, or by hand"),
        (crash, "doesn't answer: "),
    ],
)
def test_what_keeps_a_program_from_answering_is_named_and_mended(
    installed: Path, root: Path, which: int, damage: object, words: str
) -> None:
    """With the file, what is wrong with it, and the command that writes it again; --fix writes it, too."""
    program = launcher.programs()[which]
    assert callable(damage)
    damage(program)

    found = only("programs", root, "problem")

    assert found.text.startswith(f"{program} {words}")
    assert found.remedy == "holdfast install --scope user"
    obey(found, root)
    healthy("programs", root)
    damage(program)
    assert mend("programs", root) == [f"wrote {program}"]
    healthy("programs", root)


def test_the_settings_that_name_a_missing_program_are_named(root: Path) -> None:
    """Whoever cloned a team's project without an install knows which file to blame, and what to run."""
    target = scopes.target("project", root)
    install.install(target)
    shutil.rmtree(paths.launcher().parent)

    launch, command, fallback = (found for found in examine("programs", root) if found.level == "problem")

    assert f"{target.settings} registers it for" in launch.text
    assert launch.remedy == f"holdfast install --scope project --project {root}"
    assert "Claude's Bash tool runs it" in command.text
    assert "bypasses every strict handler" in fallback.text


@pytest.mark.parametrize("damage", [remove, lambda path: path.write_text("#!/bin/sh\n\nexit 0\n")])
def test_a_fallback_that_would_not_refuse_is_named_and_mended(installed: Path, root: Path, damage: Any) -> None:
    """Without it a launcher that fails would open every guard."""
    fallback = launcher.programs()[2]
    damage(fallback)

    found = only("programs", root, "problem")
    assert str(fallback) in found.text
    obey(found, root)
    healthy("programs", root)


def test_a_package_that_is_gone_is_not_taken_for_one_that_answers(installed: Path, root: Path, tmp_path: Path) -> None:
    """The entrypoint ends with 0 and silence without its package, so it is its log that tells."""
    venv.create(tmp_path / "bare", with_pip=False)
    bare = str(tmp_path / "bare" / "bin" / "python")
    text = text_of(installed, bare).replace(str(paths.package_root()), str(tmp_path / "gone"))
    installed.write_text(text, "utf-8")

    found = only("programs", root, "problem")

    assert "Holdfast does not load with" in found.text
    assert str(tmp_path / "gone") in found.text
    obey(found, root)
    healthy("programs", root)


def test_a_program_of_another_python_or_of_somebody_else_is_named(installed: Path, root: Path, tmp_path: Path) -> None:
    """Both answer, or may; which one you want is yours to say."""
    other = tmp_path / "bin" / "python"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    other.chmod(0o755)
    for path in (installed, paths.entrypoint()):
        path.write_text(text_of(installed, str(other)), "utf-8")
    found = only("programs", root, "notice")
    assert found.text.startswith(
        f"{installed} starts {other} with Holdfast in {paths.package_root()}, but this command"
    )
    assert found.remedy == "holdfast install --scope user, with the Holdfast you want"

    installed.write_text("#!/bin/sh\nexit 0\n")
    found = only("programs", root, "problem")
    assert found.text.startswith(f"{installed} wasn't written by `holdfast install`, but ")
    assert found.fix is None
