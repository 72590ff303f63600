"""`python -m linkscope`: the command line."""

from __future__ import annotations

from linkscope.cli import main

if __name__ == "__main__":
    main()
