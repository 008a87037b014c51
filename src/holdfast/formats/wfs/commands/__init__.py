"""The commands of the wfs format: `holdfast wfs …`."""

from holdfast.formats.wfs.commands.sessions import command

__all__ = ["command"]
