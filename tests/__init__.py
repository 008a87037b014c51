"""The tests of Holdfast; a package so that the modules in it can share the few things they stand on."""
