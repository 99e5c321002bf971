"""Stagecraft in Python: plans and simulates pipeline-parallel training of neural networks, and compares planners.

    import stagecraft
    planning = stagecraft.plan("vgg16", "dgx-1-v100", "spp")
    run = stagecraft.simulate(planning)
    run.iteration_time_s, run.bubble_ratio, run.devices[0].peak_memory_bytes

Needs Python 3.9 and the program `stagecraft`, which it finds beside itself or in PATH, or by the environment variable
STAGECRAFT. docs/how-to/use-stagecraft-in-python.md is an introduction.
"""

from . import results, types
from ._calls import Bounds
from ._command import Infeasible
from ._errors import Error
from ._evaluator import Evaluation, Evaluator
from ._functions import bounds, check, compare, evaluate, max_batch, plan, simulate, study
from .types import Model, Plan, Platform, Request, Stage

__all__ = ["Bounds", "Error", "Evaluation", "Evaluator", "Infeasible", "Model", "Plan", "Platform", "Request", "Stage",
           "bounds", "check", "compare", "evaluate", "max_batch", "plan", "results", "simulate", "study", "types"]
