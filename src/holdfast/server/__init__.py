"""The warm server: a parent that keeps idle children, each of which answers one event."""

from __future__ import annotations


def main(argument: str | None, entry: str) -> int:
    """Run the server of an entrypoint until nobody needs it; the entrypoint calls this for `--serve`."""
    from holdfast.server import prefork

    return prefork.main(entry)
