"""Find handler files, read their routes and load them."""
