"""The one exception that ends a command with a single clear line."""


class LinkscopeError(Exception):
    """One line: what is wrong and what to do. ``exit_code`` 2 for bad input, 1 for a failed check. ``code``: that of
    the message, where it has one."""

    def __init__(self, message: str, exit_code: int = 2, code: str = "") -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code
