"""Recording what Holdfast does, so that a change of structure can be held against what was there before.

`python -m tests.behaviour compare REVISION` plays the same scenarios with that revision and with this tree, and
prints what differs. It knows Holdfast only from outside: the entrypoint, the command line, files. So both trees may
name and place their modules as they like.
"""
