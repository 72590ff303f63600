"""What engineers ask of a run: one file a question, results in, an Answer with its frame out."""
