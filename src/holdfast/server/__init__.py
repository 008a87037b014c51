"""The warm server: it has everything loaded, and answers each event in a child of its own."""

from __future__ import annotations


def main(argument: str | None, entry: str) -> int:
    """Be the server of an entrypoint until nobody needs it; the relay calls this by name. See `loop.main`."""
    from holdfast.server import loop

    return loop.main(argument, entry)
