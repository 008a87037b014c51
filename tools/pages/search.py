"""Take the background pages out of the site's search: `python -m tools.pages.search`, after the site is built."""

from __future__ import annotations

import json
from pathlib import Path

SITE = Path(__file__).resolve().parents[2] / ".site"


def main() -> None:
    """Write both files of the search's index again; the second is for a site that is opened from the disk."""
    index = json.loads((SITE / "search.json").read_text("utf-8"))
    index["items"] = [item for item in index["items"] if item["path"][:1] != ["Background"]]
    text = json.dumps(index, ensure_ascii=False)
    (SITE / "search.json").write_text(text, "utf-8")
    (SITE / "search.js").write_text(f"var __index = {text}", "utf-8")


if __name__ == "__main__":
    main()
