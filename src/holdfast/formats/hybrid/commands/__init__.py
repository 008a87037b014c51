"""The commands of the hybrid format: `holdfast hybrid …`."""

from holdfast.formats.hybrid.commands.phases import command

__all__ = ["command"]
