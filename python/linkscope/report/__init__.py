"""Tables on a terminal, the self-contained page, the node diagram."""
