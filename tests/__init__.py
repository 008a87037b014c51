"""The tests of Holdfast. This is a package so that test modules can share support modules."""
