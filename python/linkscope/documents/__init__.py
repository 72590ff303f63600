"""Documents: what is read from outside and written for others: checked, escaped, whole."""
