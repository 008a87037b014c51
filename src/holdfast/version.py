"""The version of Holdfast."""

from __future__ import annotations

import json

from holdfast import paths


def version() -> str:
    """Return the version of the plugin copy or checkout that holds this package, or else of the installed package."""
    manifest = paths.plugin_manifest()
    try:
        return str(json.loads(manifest.read_text("utf-8"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        from importlib import metadata  # it loads parsers of mail and archives, and the server loads this module

        return metadata.version("holdfast")
