"""The registration that is generated from the shipped handlers: the plugin's, and the example of settings."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from holdfast.install import register

ROOT = Path(__file__).resolve().parents[2]


def files() -> dict[Path, str]:
    """Return the text that each file should have, by its path."""
    with TemporaryDirectory() as project:  # one without handlers of its own
        example = register.printed(Path(project))
    return {ROOT / "hooks" / "hooks.json": register.bundled(), ROOT / "settings.example.json": example}
