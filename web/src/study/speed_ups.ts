// Speed-ups as bars: the mean of each planner and its range over the groups, or one group's with its intervals.
import { element, svg } from "../shared/dom";
import { keysText, type Study, type Value } from "./data";
import { groupRows, mostGroups } from "./group_rows";
import { colourOfPlanner } from "./planners";
import { numberOrNull, rulerFor, shortened, type Ruler } from "./ruler";

const row = 22;

interface Bar {
  name: string;
  mean: number;
  low: number | null;
  high: number | null;
  over: string; // the groups of a mean, such as ` (3 of 4)`
}

function barsOf(study: Study, group: number | null): Bar[] {
  const isMean = group === null && study.report.groups.length > 1;
  const lines = group === null ? study.report.overall : study.report.groups[group].lines;
  const [low, high] = group === null ? ["lowest_speed_up", "highest_speed_up"] : ["speed_up_low", "speed_up_high"];
  return (lines as ({ name: string } & { [key: string]: Value })[])
    .map((line) => ({
      name: line.name,
      mean: numberOrNull(line.speed_up) ?? NaN,
      low: numberOrNull(line[low]),
      high: numberOrNull(line[high]),
      over: isMean ? ` (${line.groups_compared} of ${line.groups})` : "",
    }))
    .filter(({ mean }) => !Number.isNaN(mean));
}

const longest = (bars: Bar[]): number => Math.max(1, ...bars.map(({ mean, high }) => Math.max(mean, high ?? 0)));

function picture(study: Study, bars: Bar[], ruler: Ruler): SVGElement {
  const { left, width, x } = ruler;
  const height = bars.length * row + 8;
  const drawn = svg("svg", { width, height, role: "img", "aria-label": "speed-ups" });
  drawn.append(svg("path", { d: `M${x(1)} 0 V${height}`, class: "one" }));
  bars.forEach(({ name, mean, low, high, over }, i) => {
    const y = i * row + 4;
    const bar = svg("rect", { x: left, y, width: Math.max(x(mean) - left, 0), height: row - 6, rx: 2 });
    bar.setAttribute("fill", colourOfPlanner(study.planners.indexOf(name)));
    drawn.append(
      svg("text", { x: left - 8, y: y + row / 2 - 3, class: "end" }, shortened([name], ruler)),
      svg("g", {}, svg("title", {}, `${name}: ${mean.toFixed(3)}${over}`), bar),
      svg("text", { x: Math.max(x(mean), x(high ?? 0)) + 6, y: y + row / 2 - 3, class: "start" }, `${mean.toFixed(2)}${over}`),
    );
    if (low === null || high === null || high <= low) return;
    const middle = y + (row - 6) / 2;
    drawn.append(svg("path", { d: `M${x(low)} ${middle} H${x(high)} m0 -4 v8 M${x(low)} ${middle - 4} v8`, class: "range" }));
  });
  return drawn;
}

export function speedUps(study: Study): HTMLElement | null {
  if (barsOf(study, null).length === 0) return null;
  const { groups } = study.report;
  const choose = element(
    "select",
    {},
    element("option", { value: -1 }, "all groups: mean and range"),
    ...groups.map(({ keys }, i) => element("option", { value: i }, keysText(keys) || "all cells")),
  );
  const box = element("div", { class: "wide picture" });
  const rows = element("div", { class: "rows", tabindex: 0, role: "group", "aria-label": "speed-ups of each group" });
  const show = () => {
    const group = Number(choose.value);
    const bars = barsOf(study, group < 0 ? null : group);
    const ruler = rulerFor(longest(bars), box.clientWidth);
    box.replaceChildren(picture(study, bars, ruler));
    rows.hidden = group >= 0 || groups.length < 2;
    rows.replaceChildren(...(rows.hidden ? [] : [groupRows(study, ruler)]));
  };
  choose.addEventListener("change", show);
  new ResizeObserver(show).observe(box);
  show();
  const baseline = study.report.baseline ? `Ratio of samples/s to ${keysText(study.report.baseline)}. ` : "";
  const shown = groups.length > mostGroups ? `the first ${mostGroups} groups` : "each group";
  const dots = groups.length < 2 ? "" : ` Dots: the planners in ${shown}.`;
  const means = groups.length < 2 ? "" : " In brackets: the groups of a mean, in which the baseline ran too, of all that the planner is in.";
  const help = element("p", { class: "help" }, `${baseline}Lines: the range over the groups, or a group's 95 % interval.${means}${dots}`);
  return element("div", {}, element("label", { class: "chooser" }, "of ", choose), box, rows, help);
}
