"""The `hookimpl` marker."""

from __future__ import annotations

from typing import Any

import pluggy
import pytest

import holdfast
from holdfast.plugins.markers import PROJECT_NAME, hookimpl
from tests.tables import each_row


def options(function: Any) -> dict[str, Any]:
    """Return what pluggy reads from a marked function."""
    found: dict[str, Any] = getattr(function, f"{PROJECT_NAME}_impl")
    return found


def test_the_bare_marker_marks_and_returns_the_function() -> None:
    """`@hookimpl` without parentheses gives back the very function, marked for pluggy."""

    def on_stop() -> None: ...

    assert hookimpl(on_stop) is on_stop
    assert options(on_stop)["tryfirst"] is False


def test_the_marker_with_options_passes_order_to_pluggy() -> None:
    """`tryfirst` and `trylast` are pluggy's own options."""

    @hookimpl(tryfirst=True)
    def first() -> None: ...

    @hookimpl(trylast=True)
    def last() -> None: ...

    assert options(first)["tryfirst"] is True
    assert options(last)["trylast"] is True


def test_holdfasts_own_options_do_not_disturb_pluggy() -> None:
    """`match`, `timeout` and `strict` are accepted; a function stays callable and pluggy can register it."""

    class Plugin:
        @hookimpl(match="Bash", timeout=1.5, strict=True)
        def on_pre_tool_use(self) -> str:
            return "called"

    class Specs:
        @pluggy.HookspecMarker(PROJECT_NAME)
        def on_pre_tool_use(self) -> None: ...

    manager = pluggy.PluginManager(PROJECT_NAME)
    manager.add_hookspecs(Specs)
    manager.register(Plugin())

    assert manager.hook.on_pre_tool_use() == ["called"]


@each_row("option", ["matcher", "wrapper", "hookwrapper", "specname"])
def test_an_unknown_option_is_refused(option: str) -> None:
    """A misspelt option is a TypeError at once, and pluggy's wrappers are not offered."""
    arguments: dict[str, Any] = {option: True}
    with pytest.raises(TypeError, match=option):
        hookimpl(**arguments)


def test_the_marker_is_the_packages_own() -> None:
    """`from holdfast import hookimpl` is this marker."""
    assert holdfast.hookimpl is hookimpl
