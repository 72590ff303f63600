"""Workloads: the messages of applications, from their formulas or from files of other tools."""
