"""What other tools would print of the same figures: their tables, for programs and people that read those."""
