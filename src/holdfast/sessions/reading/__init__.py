"""What was really before a model: required reading, and the transcripts that tell of it."""
