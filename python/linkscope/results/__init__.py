"""Run files: reading, writing, exporting."""
