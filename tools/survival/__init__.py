"""The Compaction Survival Score: plant facts, play whole sessions of events, and see which facts reach the model."""
