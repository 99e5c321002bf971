"""Evaluations of many plans."""

import json
from typing import NamedTuple, Optional

from ._command import Command, items
from ._helper import Helper, answer_of
from ._values import plain
from .types import Planning


class Evaluation(NamedTuple):
    """The first figures of a run without contention, as in `Simulation`."""

    outcome: str
    iteration_time_s: Optional[float]
    period_s: Optional[float]
    peak_memory_bytes: dict
    throughput_samples_per_s: float
    bubble_ratio: float


class Evaluator:
    """Evaluates many plans of one model on one platform without contention, thousands a second.

        with Evaluator("vgg16", "dgx-1-v100") as evaluator:
            evaluator.evaluate(plan).iteration_time_s

    The model and the platform are loaded once. An evaluator has a helper process of its own until it is closed; several
    threads may not use one at the same time."""

    def __init__(self, model, platform, speed=None, set=None):
        command = Command().add({"model": model, "platform": platform})
        model, platform = (word.partition("=")[2] for word in command.words)
        hold = {"model": model, "platform": platform, "speed": items(speed or []), "set": items(set or [])}
        self._helper = Helper()
        try:
            self._call({"hold": hold, "files": command.files})
        except BaseException:
            self.close()
            raise

    def evaluate(self, plan):
        """The `Evaluation` of a plan: a `Plan`, a `Planning` or a JSON document. **Raises** Error for one that breaks a
        rule."""
        return self.evaluate_all([plan])[0]

    def evaluate_all(self, plans):
        """The evaluations of several plans, which takes less time than one by one. **Raises** Error for the first one
        that breaks a rule."""
        texts = [json.dumps(plain(plan.plan if isinstance(plan, Planning) else plan)) for plan in plans]
        return [Evaluation(**answer_of({"answer": each, "text": None})) for each in self._call({"evaluate": texts})]

    def close(self):
        self._helper.kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if hasattr(self, "_helper"):
            self.close()

    def _call(self, request):
        try:
            answer = self._helper.call(request, {})
        except BaseException:
            self.close()  # its answer would come in place of the next one
            raise
        return answer_of(answer)
