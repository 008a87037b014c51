"""The check names keys of holdfast.toml that don't count, with their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from tests.doctoring import examine, healthy, obey, only

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('formt = "hybrid"\n', "unknown key 'formt'; did you mean format?"),
        ('format = "other"\n', "key 'format'"),
        ("format = \n", "is not TOML"),
    ],
)
@pytest.mark.parametrize("mine", [True, False])
def test_what_does_not_count_is_a_problem(root: Path, text: str, words: str, mine: bool) -> None:
    """In either file."""
    file = write(paths.user_config() if mine else paths.project_config(root), text)

    found = only("configuration", root, "problem")

    assert found.text.startswith(f"{file}: {words}")
    assert found.remedy == f"correct {file}"
    write(file, "freshness_days = 3\n")
    healthy("configuration", root)


def test_an_administrators_file_is_named_as_the_one_to_correct(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the project's, which has no such key."""
    file = write(root / "managed.toml", 'formt = "hybrid"\n')
    monkeypatch.setattr(paths, "managed_config", lambda: file)
    found = only("configuration", root, "problem")
    assert (found.path, found.remedy) == (file, f"correct {file}")


def test_what_counts_only_when_trusted_is_told(root: Path) -> None:
    """With the command that trusts it."""
    file = write(paths.project_config(root), "[handlers]\ntimeout = 3\n")
    found = only("configuration", root, "notice")
    assert found.text == f"{file} isn't trusted in its current content, so it doesn't set \"handlers.timeout\""
    obey(found, root)
    healthy("configuration", root)


@pytest.mark.usefixtures("anybody")
@pytest.mark.parametrize("mine", [True, False])
def test_a_file_that_is_closed_to_us_is_opened(root: Path, mine: bool) -> None:
    """Nobody is sent to correct what may be right."""
    file = write(paths.user_config() if mine else paths.project_config(root), 'format = "hybrid"\n')
    file.chmod(0o000)
    found = only("configuration", root, "problem")
    assert (found.text, found.remedy) == (f"{file}: cannot be read: Permission denied", f"chmod u+rw {file}")
    obey(found, root)
    healthy("configuration", root)


@pytest.mark.usefixtures("anybody")
@pytest.mark.parametrize("mine", [True, False])
def test_a_closed_folder_is_the_folders_check(root: Path, mine: bool) -> None:
    """Told once, and nothing is said of what cannot be seen."""
    file = write(paths.user_config() if mine else paths.project_config(root), 'format = "hybrid"\n')
    file.parent.chmod(0o000)
    assert examine("configuration", root) == []
