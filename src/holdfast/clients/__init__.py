"""The clients whose hooks Holdfast answers, one folder each."""
