// The speed-ups of all groups at a glance: a row for each group, with a dot for each planner.
import { svg } from "../shared/dom";
import { keysText, shortKey, textOf, type Line, type Study } from "./data";
import { colourOfPlanner } from "./planners";
import { numberOrNull, shortened, type Ruler } from "./ruler";

const row = 15;
const radius = 4.5;
export const mostGroups = 200;

/** A dot that would hide others is smaller, so that they show around it. */
function dotsOf(study: Study, lines: Line[], { x }: Ruler): SVGElement[] {
  const taken: number[] = [];
  return lines.flatMap((line) => {
    const speedUp = numberOrNull(line.speed_up);
    if (speedUp === null) return [];
    const at = x(speedUp);
    const below = taken.filter((other) => Math.abs(other - at) < radius / 2).length;
    taken.push(at);
    const fill = colourOfPlanner(study.planners.indexOf(line.name));
    const dot = svg("circle", { cx: at, cy: row / 2, r: Math.max(radius * 0.6 ** below, 1), fill });
    return [svg("g", {}, svg("title", {}, `${line.name}: ${speedUp.toFixed(3)}`), dot)];
  });
}

/** Above the rows are the names of the keys whose values are theirs. */
export function groupRows(study: Study, ruler: Ruler): SVGElement {
  const groups = study.report.groups.slice(0, mostGroups);
  const { left, width, x } = ruler;
  const height = (groups.length + 1) * row;
  const label = (parts: string[], whole: string, style: string) =>
    svg("text", { x: left - 8, y: row / 2, class: style }, svg("title", {}, whole), shortened(parts, ruler));
  const names = study.keys.map((key) => shortKey(key, study.keys));
  const drawn = svg("svg", { width, height, role: "img", "aria-label": "speed-ups of each group" });
  drawn.append(label(names, study.keys.join(", "), "end keys"), svg("path", { d: `M${x(1)} 0 V${height}`, class: "one" }));
  groups.forEach(({ keys, lines }, i) => {
    const values = study.keys.map((key) => textOf(keys[key]));
    const line = svg("path", { d: `M${left} ${row / 2} H${width}`, class: "group" });
    const shift = `translate(0 ${(i + 1) * row})`;
    drawn.append(svg("g", { transform: shift }, line, label(values, keysText(keys), "end"), ...dotsOf(study, lines, ruler)));
  });
  return drawn;
}
