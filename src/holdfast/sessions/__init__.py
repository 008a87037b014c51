"""What Holdfast remembers of sessions beside the workflows' own files."""
