"""`python -m linkscope`: the command line. Modules of the current folder stay where they are: nothing of it is run."""

import os
import sys

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is not loaded yet
if not getattr(sys.flags, "safe_path", False) and sys.path[0] != _HOME:
    del sys.path[0]  # `-m` has put the current folder there, before the standard library

from linkscope.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
