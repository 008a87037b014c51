"""What a model has really read, as transcripts show it."""
