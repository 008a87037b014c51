"""Compactions: what a session had before one, and what it got back."""
