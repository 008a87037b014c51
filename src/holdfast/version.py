"""Which version of Holdfast this is."""

from __future__ import annotations

import json
from importlib import metadata

from holdfast import paths


def version() -> str:
    """Return the version: of the plugin or checkout the package lies in, else of the installed distribution."""
    manifest = paths.plugin_manifest()
    try:
        return str(json.loads(manifest.read_text("utf-8"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return metadata.version("holdfast")
