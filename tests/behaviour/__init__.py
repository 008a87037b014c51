"""Record what Holdfast does, so that a change of structure can be compared with the state before it.

`python -m tests.behaviour compare REVISION` plays the same scenarios with that revision and with this tree, and
prints what differs. It uses Holdfast only from outside: the entrypoint, the command line, files. So the two trees may
name and arrange their modules differently.
"""
