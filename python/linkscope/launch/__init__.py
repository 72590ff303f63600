"""Starting engines and surviving their crashes and hangs."""
