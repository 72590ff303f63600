"""The processes that carry out one plan together."""
