"""What the profiler refuses."""


class ProfilerError(Exception):
    """A model or an input that cannot be profiled; the message says where and what to do."""

    def __init__(self, message):
        super().__init__(message)
        self.message = message

    def __str__(self):
        return self.message  # torch.fx appends to the arguments of what passes through it
