"""Commands that can't create a folder say which one and why, without the error's number."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast import paths
from tests.commandline import holdfast


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which no folder can be created, nor can the configuration's."""
    closed = (str(tmp_path), str(paths.user_config().parent))
    real = os.mkdir

    def refuse(path: Any, *arguments: Any, **options: Any) -> None:
        if str(path).startswith(closed) and not Path(path).is_dir():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        real(path, *arguments, **options)

    monkeypatch.setattr(os, "mkdir", refuse)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ("wfs start Book", ".workflow"),
        ("start Book", "untracked/workflow-state"),
        ("handlers new guard --event Stop --in-project", ".claude/handlers"),
        ("handlers new guard --event Stop", "holdfast/handlers"),
        ("handlers off restore_workflow", "holdfast"),
    ],
)
def test_a_folder_that_cannot_be_created_is_named(root: Path, words: str, folder: str) -> None:
    """With the reason."""
    said = holdfast(*words.split(), root=root, code=1).err

    assert f"{folder}: can't be created: permission denied" in said
    assert "Errno" not in said
