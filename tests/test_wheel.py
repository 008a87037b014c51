"""Installing: the wheel carries all it needs, and an editable install works too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = sorted(path.stem for path in (ROOT / "handlers").glob("*.py"))


def run(command: list[str], home: Path) -> str:
    """Run a program with an empty home; return what it printed."""
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PIP_NO_INPUT": "1"}
    done = subprocess.run(command, cwd=home, env=environ, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fresh_environment(folder: Path) -> Path:
    """Make a virtual environment that has our dependencies but not us; return its bin folder."""
    run([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    bin_folder = folder / "venv" / "bin"
    site = Path(
        run(
            [str(bin_folder / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder
        ).strip()
    )
    # The .pth of the editable checkout stays behind: a plain path line runs no other .pth files.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return bin_folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as `pip install .` builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(folder)]
    run([*command, str(ROOT)], folder)
    (built,) = folder.glob("holdfast-*.whl")
    return built


def test_the_wheel_carries_handlers_hooks_and_skills(wheel: Path) -> None:
    """The top-level folders land in holdfast/_shipped, and no test or cache file comes with them."""
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {f"holdfast/_shipped/handlers/{name}.py" for name in SHIPPED}
    wanted |= {"holdfast/_shipped/hooks/dispatch.py", "holdfast/_shipped/skills/holdfast/SKILL.md"}
    wanted |= {"holdfast/py.typed", "holdfast/recorded/PreCompact-auto.json"}
    assert wanted <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests/", "handlers/"))]


def works(bin_folder: Path, home: Path, place: str) -> None:
    """Assert that the installed command lists the shipped handlers and runs the whole demo."""
    holdfast = str(bin_folder / "holdfast")
    listed = json.loads(run([holdfast, "handlers", "list", "--json"], home))
    files = {row["file"] for rows in listed["events"].values() for row in rows}
    assert sorted({Path(file).stem for file in files}) == SHIPPED
    assert all(place in file for file in files)
    assert "Saved, restored and moved on" in run([holdfast, "demo"], home)


def test_the_wheel_works_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    """`pip install` of the wheel gives a working `holdfast` with its shipped handlers."""
    bin_folder = fresh_environment(tmp_path)
    run([str(bin_folder / "python"), "-m", "pip", "install", "--no-deps", "-q", str(wheel)], tmp_path)
    works(bin_folder, tmp_path, "_shipped")


def test_an_editable_install_works_in_a_fresh_environment(tmp_path: Path) -> None:
    """`pip install -e .` uses the checkout's own folders."""
    bin_folder = fresh_environment(tmp_path)
    command = [str(bin_folder / "python"), "-m", "pip", "install", "--no-deps", "--no-build-isolation", "-q", "-e"]
    run([*command, str(ROOT)], tmp_path)
    works(bin_folder, tmp_path, str(ROOT / "handlers"))
