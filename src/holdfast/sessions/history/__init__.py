"""What happened: earlier contents of files, phases as they ran, workflows that are over."""
