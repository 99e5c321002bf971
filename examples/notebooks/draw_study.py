#!/usr/bin/env python3
"""Draws a figure of a study's results: one line for each planner.

    draw_study.py FOLDER [-o FIGURE.svg] [--x COLUMN] [--y COLUMN] [--where COLUMN=VALUE]...

With matplotlib the figure may be of any form that it writes (.png, .pdf, .svg); without it, an SVG.
"""

import argparse
import html
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import stagecraft_results  # noqa: E402

COLOURS = ["#2f6db3", "#d1662b", "#3f8f4f", "#a6428c", "#7a6a2f", "#4aa3a8", "#b33a3a", "#6b5bb5"]
WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 80, 180, 50, 60


def main():
    options = parse()
    study = stagecraft_results.read(options.folder)
    rows = [row for row in study.ok() if chosen(row, options.where)]
    x = options.x or first_axis(study)
    for column in (x, options.y):
        if rows and column not in rows[0]:
            sys.exit(f"no column {column!r}; there are {', '.join(rows[0])}")
    lines = stagecraft_results.series(rows, x, options.y)
    if not lines:
        sys.exit(f"no cell that is ok has both {x} and {options.y}")
    tell_other_columns(study, rows, x)
    title = str(study.about.get("study", Path(options.folder).name))
    draw(lines, x, options.y, title, options.output)
    print(f"{options.output}: {options.y} over {x}, {len(rows)} cells, {len(lines)} planners")


def parse():
    parser = argparse.ArgumentParser(description="draws a figure of a study's results, one line for each planner")
    parser.add_argument("folder", help="with results.sqlite or results.csv, as stagecraft collect writes them")
    parser.add_argument("-o", "--output", default="study.svg", help="the figure; default study.svg")
    parser.add_argument("--x", help="the column along the x axis; default: the first that differs")
    parser.add_argument("--y", default=stagecraft_results.THROUGHPUT, help="the figure; default %(default)s")
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE", help="takes only such cells")
    options = parser.parse_args()
    options.where = [condition.partition("=")[::2] for condition in options.where]
    return options


def chosen(row, conditions):
    return all(str(row.get(column)) == value for column, value in conditions)


def first_axis(study):
    columns = [column for column in study.differing() if not stagecraft_results.says_who(column)]
    return columns[0] if columns else "model"


def tell_other_columns(study, rows, x):
    others = [column for column in study.differing() if column != x and not stagecraft_results.says_who(column)
              and len({str(row[column]) for row in rows}) > 1]
    if others:
        print(f"note: means over {', '.join(others)}; --where {others[0]}=VALUE takes one value", file=sys.stderr)


def draw(lines, x, y, title, output):
    try:
        import matplotlib
    except ImportError:
        if not output.endswith(".svg"):
            sys.exit(f"{output}: without matplotlib only a .svg can be drawn")
        Path(output).write_text(svg(lines, x, y, title), encoding="utf-8")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots()
    for who, points in lines.items():
        axes.plot([plain(at) for at in places(lines)], aligned(points, lines), marker="o", label=plain(who))
    axes.set(xlabel=plain(x), ylabel=plain(y), title=plain(title), ylim=(0, None))
    axes.legend()
    figure.savefig(output)


def shown(words):
    """Names are data: control characters are shown, not written."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in str(words))


def plain(words):
    """As matplotlib takes it for no formula."""
    return shown(words).replace("$", r"\$")


def places(lines):
    """Every x of any line, ascending if they are numbers, else by first appearance."""
    found = list(dict.fromkeys(at for points in lines.values() for at, _ in points))
    return sorted(found) if all(isinstance(at, (int, float)) for at in found) else found


def aligned(points, lines):
    values = dict(points)
    return [values.get(at, math.nan) for at in places(lines)]


def tick_step(highest):
    """1, 2 or 5 times a power of ten, so that about five steps reach the highest value."""
    if highest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest / 5))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * 5 >= highest * 0.999)


def svg(lines, x, y, title):
    """The figure as a text: places evenly spaced along x, y from zero or, where values are negative, from the least."""
    at_places = places(lines)
    values = [value for points in lines.values() for _, value in points]
    step = tick_step(max(map(abs, values)))
    low = math.floor(min(0.0, *values) / step) * step
    high = max(math.ceil(max(0.0, *values) / step) * step, low + step)

    def across(at):
        return LEFT + (at_places.index(at) + 0.5) / len(at_places) * (WIDTH - LEFT - RIGHT)

    def up(value):
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def text(left, top, words, anchor="middle", more=""):
        return f'<text x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}"{more}>{html.escape(shown(words))}</text>'

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             'font-size="12" fill="#1c2530">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(LEFT, 25, title, "start", ' font-size="15"')]
    for i in range(round((high - low) / step) + 1):
        value = low + i * step
        parts.append(f'<path d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}" stroke="#dde3ea"/>')
        parts.append(text(LEFT - 8, up(value) + 4, f"{value:g}", "end"))
    parts += [text(across(at), HEIGHT - BOTTOM + 20, "-" if at is None else at) for at in at_places]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 15, x))
    parts.append(text(0, 0, y, more=f' transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2:.1f}) rotate(-90)"'))
    for i, (who, points) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        way = "L".join(f"{across(at):.1f} {up(value):.1f}" for at, value in points)
        parts.append(f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(at):.1f}" cy="{up(value):.1f}" r="4" fill="{colour}"/>' for at, value in points]
        parts.append(f'<rect x="{WIDTH - RIGHT + 15}" y="{TOP + 20 * i}" width="12" height="12" fill="{colour}"/>')
        parts.append(text(WIDTH - RIGHT + 33, TOP + 20 * i + 10, who, "start"))
    return "\n".join(parts) + "\n</svg>\n"


if __name__ == "__main__":
    main()
