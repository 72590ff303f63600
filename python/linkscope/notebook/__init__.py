"""What a notebook shows: results, and how a run goes on."""
