"""Helpers: processes of `stagecraft serve`, each of which answers one call at a time.

A helper is started with posix_spawn, never by a fork of this process, and in a process group of its own, so that Ctrl-C
reaches Python alone. Calls of several threads take a helper each, and as many as there are processors wait for the next
calls. A call that is broken off, by an exception or Ctrl-C, kills its helper with all that it has started; the next call
starts another one.
"""

import atexit
import json
import os
import shutil
import signal
import threading
from contextlib import contextmanager
from pathlib import Path

from ._errors import Error


def program():
    """The path of the program: that in the environment variable STAGECRAFT, else that of the source tree or of the
    installation which this package is in, else the one in PATH."""
    given = os.environ.get("STAGECRAFT")
    if given:
        return shutil.which(given) or given
    above = Path(__file__).resolve().parents
    beside = [above[2] / "build" / "release" / "stagecraft", *(folder / "bin" / "stagecraft" for folder in above[4:5])]
    found = next((str(path) for path in beside if path.is_file()), None) or shutil.which("stagecraft")
    if found is None:
        raise Error("the program 'stagecraft' is neither built beside this package nor in PATH",
                    hint="set the environment variable STAGECRAFT to its path")
    return found


def surroundings():
    """What a helper takes from this process when it starts: the program, the working folder and the data folder."""
    return program(), os.getcwd(), os.environ.get("STAGECRAFT_DATA")


class Helper:
    def __init__(self):
        self.surroundings = surroundings()
        self._owner = os.getpid()
        path = self.surroundings[0]
        requests, self._to = os.pipe()
        self._from, answers = os.pipe()
        streams = [(os.POSIX_SPAWN_DUP2, requests, 0), (os.POSIX_SPAWN_DUP2, answers, 1)]
        try:
            self.pid = os.posix_spawn(path, [path, "serve", "--end-with-parent"], os.environ, file_actions=streams,
                                      setpgroup=0)
        except OSError as problem:
            os.close(self._to)
            os.close(self._from)
            raise Error(f"{path} cannot be started: {problem.strerror}") from None
        finally:
            os.close(requests)
            os.close(answers)
        self._requests = os.fdopen(self._to, "wb", buffering=0)
        self._answers = os.fdopen(self._from, "rb")

    def call(self, request, planners):
        """The answer to a request, a dict each. Questions on the way to it go to the planners, functions by their names
        from a request to the text of a plan."""
        self._send(request)
        while True:
            answer = self._receive()
            if "ask" not in answer:
                return answer
            planner = planners.get(answer["ask"])
            self._send({"reply": planner(answer["request"])} if planner else {"problem": "there is no such function"})

    def is_mine(self):
        """Whether this process has started it, and not the one that forked this one."""
        return self._owner == os.getpid()

    def is_alive(self):
        try:
            is_there = self.is_mine() and self.pid is not None and os.waitpid(self.pid, os.WNOHANG)[0] == 0
        except ChildProcessError:  # somebody else has waited for it
            is_there = False
        if not is_there:
            self.pid = None  # another process may have its number now
        return is_there

    def kill(self):
        """Ends the helper, whatever it does."""
        if self.is_alive():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None
        self.close()

    def close(self):
        self._requests.close()
        self._answers.close()

    def _send(self, message):
        try:
            text = memoryview(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        except UnicodeEncodeError as problem:
            raise Error(f"expected text in UTF-8, found {problem.object[problem.start:problem.end]!r}") from None
        try:
            while text:
                text = text[self._requests.write(text):]
        except BrokenPipeError:
            self._fail()

    def _receive(self):
        try:
            return json.loads(self._answers.readline())
        except ValueError:  # its end, or another program
            self._fail()

    def _fail(self):
        raise Error(f"the helper process, {self.surroundings[0]} serve, has died or does not answer", code=1,
                    hint="what it wrote is on standard error")


class _Pool:
    """The helpers that wait for a call, not more of them than there are processors."""

    _most = os.cpu_count() or 1

    def __init__(self):
        self._lock = threading.Lock()
        self._idle = []  # the one that has waited longest first

    @contextmanager
    def helper(self):
        helper = self._take(surroundings())
        try:
            yield helper
        except BaseException:
            helper.kill()
            raise
        with self._lock:
            self._idle.append(helper)
            surplus = self._idle.pop(0) if len(self._idle) > self._most else None
        if surplus is not None:
            surplus.kill()

    def _take(self, wanted):
        """A helper that was started in such surroundings, or a new one. Others are of no more use."""
        with self._lock:
            while self._idle:
                helper = self._idle.pop()
                if helper.surroundings == wanted and helper.is_alive():
                    return helper
                helper.kill()
        return Helper()

    def end(self):
        with self._lock:
            idle, self._idle = self._idle, []
        for helper in idle:
            helper.kill()

    def forget(self):
        """In a forked child: the helpers are the parent's."""
        self._lock = threading.Lock()
        for helper in self._idle:
            helper.close()
        self._idle = []


_pool = _Pool()
atexit.register(_pool.end)
os.register_at_fork(after_in_child=_pool.forget)


def call(command, files, planners):
    """Runs a command, a list of words. Returns the whole answer, a dict. **Raises** Error for a command that fails."""
    with _pool.helper() as helper:
        answer = helper.call({"command": command, "files": files}, planners)
    answer_of(answer)
    return answer


def answer_of(answer):
    """The document of an answer. **Raises** Error if it is that of an error."""
    document = answer["answer"]
    if isinstance(document, dict) and "error" in document:
        raise Error(text=answer["text"], **document["error"])
    return document
