"""Other tools' results as run files: a reader for each tool, and what makes rows of what it reads."""
