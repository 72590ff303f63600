"""Answers in words: of each question one sentence that concludes, and the columns of its table."""
