"""Starts engines, survives their crashes and hangs, resumes."""
