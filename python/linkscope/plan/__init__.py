"""Suites and patterns expanded into cases on the machine at hand."""
