"""Readers of files that say what an application sends: one a format."""
