"""Files that other systems load: what a run's figures say they should use."""
