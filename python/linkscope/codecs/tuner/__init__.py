"""Files that libraries and programs load: what results say they should use."""
