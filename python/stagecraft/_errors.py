"""The one kind of exception."""


class Error(Exception):
    """What the program refuses, or cannot do, in the words of the command line.

    `code` is the exit code of the command: 2 for input that cannot be used, 1 for a defect of Stagecraft. `message` is
    the text without place and hint; `file`, `line` and `column` (both from 1) and `hint` are None where there is
    none."""

    def __init__(self, message, text=None, code=2, file=None, line=None, column=None, hint=None):
        super().__init__(message, text, code, file, line, column, hint)  # all of it, so that it can be pickled
        self.message = message
        self.code = code
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint
        self._text = text or (f"{message} ({hint})" if hint else message)

    def __str__(self):
        return self._text
