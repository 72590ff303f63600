"""What a node is made of: devices, links, peaks, paths."""
