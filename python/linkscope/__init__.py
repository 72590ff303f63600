"""linkscope: how fast data moves inside a GPU node, how fast it could, and what to use."""
