"""Questions of engineers: one file each, results in, an Answer with its frame out."""
