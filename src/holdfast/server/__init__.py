"""The warm server: it has everything loaded and answers each event in a forked child process."""

from __future__ import annotations


def main(argument: str | None, entry: str) -> int:
    """Run the server of an entrypoint until nobody needs it; the relay calls this by name. See `loop.main`."""
    from holdfast.server import loop

    return loop.main(argument, entry)
