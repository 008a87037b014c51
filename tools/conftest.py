"""The tools' tests have the fixtures of `tests`: a home and an environment of their own."""

from __future__ import annotations

from tests.conftest import fresh, home, made_once, run_python, short_folder, tmp_path, warm

__all__ = ["fresh", "home", "made_once", "run_python", "short_folder", "tmp_path", "warm"]
