"""One file per question: rows in, tables out."""
