"""The questions that linkscope answers of runs: one file a question, results in, an Answer out."""
