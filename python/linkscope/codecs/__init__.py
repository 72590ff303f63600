"""Codecs: files that other systems load, and what other tools print."""
