"""A client that is played: recorded events, throw-away homes and projects, and what is shown and scored with them."""
