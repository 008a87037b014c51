"""Installing: the wheel contains everything it needs, and an editable install works too."""

from __future__ import annotations

import json
import zipfile
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from tests.environments import ROOT, build_wheel, fresh_environment, install_wheel, run

SHIPPED = sorted(path.stem for path in (ROOT / "handlers").glob("*.py"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as `pip install .` builds it."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_carries_handlers_hooks_and_skills(wheel: Path) -> None:
    """The top-level folders land in holdfast/_shipped, and no test or cache file comes with them."""
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {f"holdfast/_shipped/handlers/{name}.py" for name in SHIPPED}
    wanted |= {f"holdfast/_shipped/catalogue/{path.name}" for path in (ROOT / "catalogue").glob("*.py")}
    wanted |= {"holdfast/_shipped/hooks/dispatch.py", "holdfast/_shipped/skills/holdfast/SKILL.md"}
    wanted |= {
        "holdfast/py.typed",
        "holdfast/files/secrets.toml",
        "holdfast/report/page.html.j2",
        "holdfast/report/page.css",
        "holdfast/testkit/recorded/PreCompact-auto.json",
    }
    assert wanted <= names
    assert not [
        name for name in names if "__pycache__" in name or name.startswith(("tests/", "handlers/", "catalogue/"))
    ]


def works(bin_folder: Path, home: Path, place: str) -> None:
    """Assert that the installed command lists the shipped handlers and runs the whole demo."""
    holdfast = str(bin_folder / "holdfast")
    listed = json.loads(run([holdfast, "handlers", "list", "--json"], home))
    files = {row["file"] for rows in listed["events"].values() for row in rows}
    assert sorted({Path(file).stem for file in files}) == SHIPPED
    assert all(place in file for file in files)
    said = run([holdfast, "demo"], home)
    assert "Saved, restored and moved on" in said
    assert "Now try it on your own work" in said


def without_bytecode(bin_folder: Path) -> list[str]:
    """Return the installed modules that the first event would have to compile."""
    (package,) = bin_folder.parent.glob("lib/python*/site-packages/holdfast")
    modules = [path for path in package.rglob("*.py") if "_shipped" not in path.parts]
    assert modules
    return [str(path) for path in modules if not Path(cache_from_source(str(path))).is_file()]


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    """`pip install` of the wheel gives a working `holdfast` with its shipped handlers."""
    bin_folder = fresh_environment(tmp_path)
    install_wheel(bin_folder, wheel, tmp_path)
    assert not without_bytecode(bin_folder)
    works(bin_folder, tmp_path, "_shipped")


@pytest.mark.slow
def test_an_editable_install_works_in_a_fresh_environment(tmp_path: Path) -> None:
    """`pip install -e .` uses the checkout's own folders."""
    bin_folder = fresh_environment(tmp_path)
    command = [str(bin_folder / "python"), "-m", "pip", "install", "--no-deps", "--no-build-isolation", "-q", "-e"]
    run([*command, str(ROOT)], tmp_path)
    works(bin_folder, tmp_path, str(ROOT / "handlers"))
