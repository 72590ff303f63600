"""Statistics: intervals, ranks, fits and ranges of sizes, over plain numbers."""
