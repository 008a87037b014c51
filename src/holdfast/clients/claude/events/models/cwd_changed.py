"""`CwdChanged` fires when the model's working directory has changed.

Example::

    from holdfast import environment, hookimpl

    @hookimpl
    def on_cwd_changed(event):
        return environment({"WORKING_IN": event.new_cwd})
"""

from holdfast.clients.claude.events.event import Event


class CwdChanged(Event):
    """The model's working directory has changed.

    Attributes:
        old_cwd: the folder before.
        new_cwd: the folder after.
    """

    accepts = frozenset({"watch", "tell_user", "environment", "terminal"})

    old_cwd: str = ""
    new_cwd: str = ""
