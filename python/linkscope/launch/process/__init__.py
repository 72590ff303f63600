"""The programs that are started on this host, and what they leave behind."""
