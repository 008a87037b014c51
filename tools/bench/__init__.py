"""Measure what an event costs; not shipped."""

CLIENT = "2.1.332"
"""The version of the real client that is measured, unless another is named."""
