"""Measures a PyTorch model, operator by operator, and writes a model file of Stagecraft.

    import stagecraft_profiler
    measured = stagecraft_profiler.profile(model, lambda batch: (torch.randn(batch, 3, 224, 224),), batch_sizes=(1, 4))
    print(measured.summary())
    measured.write("model.yaml")

Needs Python 3.9 and PyTorch 1.13 or later, and nothing else. docs/how-to/profile-your-own-model.md is an introduction.
"""

from .errors import ProfilerError
from .profiling import profile

__all__ = ["ProfilerError", "profile"]
