"""Writing what is generated from the program anew: `python -m tools.pages`; with `--picture`, the picture as well."""

from __future__ import annotations

import sys

from tools.pages import picture, reference, registration


def main(arguments: list[str]) -> None:
    """Write the pages and the registration."""
    for path, text in (reference.pages() | registration.files()).items():
        path.write_text(text, "utf-8")
    if "--picture" in arguments:
        picture.PLACE.write_text(picture.drawn(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
