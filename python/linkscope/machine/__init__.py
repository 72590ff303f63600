"""Machines: devices, links, peaks and paths of a node."""
