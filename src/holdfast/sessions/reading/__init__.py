"""What a model has really read, as its transcript shows."""
