"""Evaluations of many plans."""

import threading
from typing import NamedTuple, Optional

from ._command import Command, items, plan_in, tell
from ._errors import Error
from ._helper import Helper, answer_of
from ._values import json_text


class Evaluation(NamedTuple):
    """The first figures of a run without contention, as in `Simulation`."""

    outcome: str
    iteration_time_s: Optional[float]
    period_s: Optional[float]
    peak_memory_bytes: dict
    throughput_samples_per_s: float
    bubble_ratio: float


def _evaluation(found):
    if "error" in found:
        raise Error(text=found["text"], **found["error"])
    return Evaluation(**found)


class Evaluator:
    """Evaluates many plans of one model on one platform without contention.

        with Evaluator("vgg16", "dgx-1-v100") as evaluator:
            evaluator.evaluate(plan).iteration_time_s

    The model and the platform are loaded once. An evaluator has a helper process of its own until it is closed. Threads
    may use it in turn; a forked child gets a helper of its own."""

    def __init__(self, model, platform, speed=None, set=None):
        command = Command().add({"model": model, "platform": platform})
        model, platform = (word.partition("=")[2] for word in command.words)
        hold = {"model": model, "platform": platform, "speed": items(speed or []), "set": items(set or [])}
        self._lock = threading.Lock()
        self._inputs = {"hold": hold, "files": command.files}
        self._is_closed = False
        self._helper = None
        self._call({"evaluate": []})

    def evaluate(self, plan):
        """The `Evaluation` of a plan: a `Plan`, an answer that has one, or a JSON document. **Raises** Error for one
        that breaks a rule."""
        return self.evaluate_all([plan])[0]

    def evaluate_all(self, plans):
        """The evaluations of several plans, which takes less time than one by one. **Raises** Error for the first one
        that breaks a rule."""
        texts = [json_text(plan_in(plan)) for plan in plans]
        return [_evaluation(found) for found in self._call({"evaluate": texts})]

    def close(self):
        self._is_closed = True
        self._drop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if hasattr(self, "_helper"):
            self._drop()

    def _drop(self):
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.kill()

    def _call(self, request):
        with self._lock:
            if self._is_closed:
                raise Error("the evaluator is closed")
            try:
                if self._helper is None or not self._helper.is_mine():
                    self._drop()
                    self._helper = Helper()
                    answer_of(self._helper.call(self._inputs, {}))
                answer = self._helper.call(request, {})
            except BaseException:
                self._drop()  # what it still answers would come in place of the next answer
                raise
        for remark in answer["remarks"]:
            tell(remark)
        return answer_of(answer)
