"""The check starts the programs that settings name, and says what keeps them from answering."""

from __future__ import annotations

import shutil
import sys
import venv
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.checks import programs
from holdfast.clients.claude import scopes
from holdfast.install import installer, launcher
from tests.doctoring import examine, healthy, mend, obey, only

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def installed(root: Path) -> Path:
    """The launcher, named by the user's settings."""
    installer.install(scopes.target("user", root))
    return paths.launcher()


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_where_nothing_is_registered_no_program_is_needed(root: Path) -> None:
    """Nothing is missed before an install."""
    assert "no settings file registers Holdfast" in healthy("programs", root)


def test_both_programs_start_and_answer(installed: Path, root: Path) -> None:
    """They are really started: the launcher answers an event without a payload, the command tells its version."""
    said = healthy("programs", root)
    run, command, fallback = launcher.programs()
    assert [f"{path} starts {sys.executable} and answers" in said for path in (run, command)] == [True, True]
    assert f"{fallback} refuses for strict handlers" in said
    assert not paths.log_file().exists()  # of the user's


def remove(path: Path) -> None:
    path.unlink()


def forbid(path: Path) -> None:
    path.chmod(0o644)


def lose_interpreter(path: Path) -> None:
    path.write_text(launcher.texts("/gone/bin/python")[path], "utf-8")


def lose_interpreter_with_blank(path: Path) -> None:
    path.write_text(launcher.texts("/gone away/bin/python")[path], "utf-8")


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
    installer.install(target)
    shutil.rmtree(paths.launcher().parent)

    launch, command, fallback = (found for found in examine("programs", root) if found.level == "problem")

    assert f"{target.settings} registers it for" in launch.text
    assert launch.remedy == f"holdfast install --scope project --project {root}"
    assert "the model's Bash tool runs it" in command.text
    assert "bypasses every strict handler" in fallback.text


@pytest.mark.parametrize("damage", [remove, lambda path: path.write_text("#!/bin/sh\n\nexit 0\n")])
def test_a_fallback_that_would_not_refuse_is_named_and_mended(installed: Path, root: Path, damage: Any) -> None:
    """Without it a launcher that fails would open every guard."""
    fallback = launcher.programs()[2]
    damage(fallback)

    found = only("programs", root, "problem")
    assert str(fallback) in found.text
    obey(found, root)
    assert "refuses for strict handlers" in healthy("programs", root)


def test_a_package_that_is_gone_is_not_taken_for_one_that_answers(installed: Path, root: Path, tmp_path: Path) -> None:
    """The entrypoint ends with 0 and silence without its package, so it is its log that tells."""
    venv.create(tmp_path / "bare", with_pip=False)
    bare = str(tmp_path / "bare" / "bin" / "python")
    text = launcher.texts(bare)[installed].replace(str(paths.package_root()), str(tmp_path / "gone"))
    installed.write_text(text, "utf-8")

    found = only("programs", root, "problem")

    assert "Holdfast does not load with" in found.text
    assert str(tmp_path / "gone") in found.text
    obey(found, root)
    healthy("programs", root)


def test_another_holdfast_that_answers_is_a_matter_of_choice(installed: Path, root: Path, tmp_path: Path) -> None:
    """Two environments with Holdfast: both are named, and --fix decides nothing."""
    other = tmp_path / "other"
    shutil.copytree(paths.package_root() / "holdfast", other / "holdfast")
    rewrite(installed, repr(str(paths.package_root())), repr(str(other)))

    found = only("programs", root, "notice")

    assert f"with Holdfast in {other}, but this command runs {sys.executable}" in found.text
    assert found.fix is None


def test_a_program_that_hangs_is_ended(installed: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor does not wait for it as long as the client would."""
    monkeypatch.setattr(programs, "TIMEOUT_S", 6)  # the other program has to answer in it
    rewrite(installed, "import sys\n", "import sys, time\ntime.sleep(600)\n")

    assert "it didn't end within 6 seconds" in only("programs", root, "problem").text


def test_a_program_in_another_place_is_only_named(installed: Path, root: Path) -> None:
    """What somebody else's home holds is not ours to write."""
    settings = root / ".claude" / "settings.json"
    settings.write_text(
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/x/.local/share/holdfast/run Stop"}]}]}}'
    )

    found = only("programs", root, "problem")

    assert found.text == f"/x/.local/share/holdfast/run is missing, but {settings} registers it for Stop"
    assert found.fix is None
    obey(found, root)
    healthy("programs", root)


def test_what_is_no_launcher_is_not_started(installed: Path, root: Path) -> None:
    """Somebody's own program in that place is left alone."""
    installed.write_text("#!/bin/sh\ntouch started\n")

    assert "wasn't written by `holdfast install`" in only("programs", root, "problem").text
    assert not (root / "started").exists()


def test_what_another_projects_install_needs_is_looked_at_too(root: Path, tmp_path: Path) -> None:
    """All of them share one launcher."""
    other = scopes.target("local", tmp_path / "other")
    (tmp_path / "other").mkdir()
    installer.install(other)
    paths.launcher().unlink()

    found = only("programs", root, "problem")

    assert f"{other.settings} registers it for" in found.text
    obey(found, root)
    healthy("programs", root)


@pytest.mark.usefixtures("anybody")
def test_what_lies_in_a_closed_folder_no_install_mends(installed: Path, root: Path) -> None:
    """The folder is to be opened; a closed program in an open one is written anew."""
    installed.chmod(0o000)
    assert only("programs", root, "problem").remedy == "holdfast install --scope user"
    obey(only("programs", root, "problem"), root)
    share = installed.parent.parent
    share.chmod(0o000)
    found = [each for each in examine("programs", root) if each.level != "ok"]
    assert {(each.level, each.remedy, each.fix) for each in found} == {("problem", f"chmod u+rwx {share}", None)}
    obey(found[0], root)
    assert installed.exists()
