"""The command line: argument handling and nothing else."""
