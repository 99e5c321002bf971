"""The notebooks in examples/notebook show what their cells give: `notebook_test.py PROGRAM`.

With STAGECRAFT_UPDATE set they are written anew. Needs no Jupyter: cells run one after another, and what the last
expression of a cell gives is shown as Jupyter would show it."""

import ast
import contextlib
import io
import json
import os
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else str(ROOT / "build" / "release" / "stagecraft")
os.environ["STAGECRAFT"] = os.path.abspath(PROGRAM)
sys.path.insert(0, str(ROOT / "python"))


def displayed(value):
    """The forms in which a notebook shows a value."""
    forms = {"text/plain": repr(value).splitlines(True)}
    for name, kind in (("_repr_html_", "text/html"), ("_repr_svg_", "image/svg+xml")):
        if hasattr(value, name):
            forms[kind] = getattr(value, name)().splitlines(True)
    if len(forms) > 1:
        forms["text/plain"] = [type(value).__name__]
    return forms


def run_cell(source, names, number):
    """The outputs of a cell."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names) if last else None
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        outputs.append({"data": displayed(value), "execution_count": number, "metadata": {},
                        "output_type": "execute_result"})
    return outputs


def run_notebook(notebook):
    names = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        cell["execution_count"] = number
        cell["outputs"] = run_cell("".join(cell["source"]), names, number)
    return names


class Notebooks(unittest.TestCase):
    def test_they_show_what_their_cells_give(self):
        paths = sorted((ROOT / "examples" / "notebook").glob("*.ipynb"))
        self.assertTrue(paths)
        for path in paths:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            names = run_notebook(notebook)
            text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
            if os.environ.get("STAGECRAFT_UPDATE"):
                path.write_text(text, encoding="utf-8")
            with self.subTest(path.name):
                self.assertEqual(path.read_text(encoding="utf-8"), text)
                self.judge(names)

    def judge(self, names):
        """The planner of the notebook beats `uniform`, as its text says."""
        speeds = {row.planner: row.simulation.throughput_samples_per_s for row in names["comparison"].models[0].rows}
        self.assertGreater(speeds["call:balanced"], speeds["uniform"])


if __name__ == "__main__":
    unittest.main()
