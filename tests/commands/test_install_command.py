"""What `holdfast install` does besides registering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.commands import install

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_bytecode_is_written_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some installers write none; what is there already is left as it is."""
    (tmp_path / "holdfast" / "inner").mkdir(parents=True)
    for name in ("one", "inner/two"):
        (tmp_path / "holdfast" / f"{name}.py").write_text("x = 1\n")
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path)

    install.compile_package()

    found = sorted(path.parent.parent.name for path in tmp_path.rglob("__pycache__/*.pyc"))
    assert found == ["holdfast", "inner"]
