"""The Compaction Survival Score: planted facts, whole sessions of events, and what of it reaches the model."""
