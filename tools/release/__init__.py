"""Building and checking a release: `make release` runs this. It uploads nothing."""
