"""Register Holdfast with the client, and keep the registration up to date."""
