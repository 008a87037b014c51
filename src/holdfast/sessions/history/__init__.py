"""What happened: earlier contents of files, when phases ran, workflows that are over."""
