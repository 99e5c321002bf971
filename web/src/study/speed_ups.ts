// Speed-ups as bars: the mean of each planner and its range over the groups, or one group's with its intervals.
import { element, svg } from "../shared/dom";
import { keysText, type Study, type Value } from "./data";
import { colourOfPlanner } from "./planners";

const row = 22;
const left = 170;
const width = 760;
const right = 60;

interface Bar {
  name: string;
  mean: number;
  low: number | null;
  high: number | null;
}

const numberOrNull = (value: Value | undefined) => (typeof value === "number" ? value : null);

function barsOf(study: Study, group: number | null): Bar[] {
  const lines = group === null ? study.report.overall : study.report.groups[group].lines;
  const [low, high] = group === null ? ["lowest_speed_up", "highest_speed_up"] : ["speed_up_low", "speed_up_high"];
  return (lines as ({ name: string } & { [key: string]: Value })[])
    .map((line) => ({
      name: line.name,
      mean: numberOrNull(line.speed_up) ?? NaN,
      low: numberOrNull(line[low]),
      high: numberOrNull(line[high]),
    }))
    .filter(({ mean }) => !Number.isNaN(mean));
}

function picture(study: Study, bars: Bar[]): SVGElement {
  const most = Math.max(1, ...bars.map(({ mean, high }) => Math.max(mean, high ?? 0)));
  const x = (value: number) => left + ((width - left - right) * value) / most;
  const height = bars.length * row + 8;
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "speed-ups" });
  drawn.append(svg("path", { d: `M${x(1)} 0 V${height}`, class: "one" }));
  bars.forEach(({ name, mean, low, high }, i) => {
    const y = i * row + 4;
    const bar = svg("rect", { x: left, y, width: Math.max(x(mean) - left, 0), height: row - 6, rx: 2 });
    bar.setAttribute("fill", colourOfPlanner(study.planners.indexOf(name)));
    drawn.append(
      svg("text", { x: left - 8, y: y + row / 2 - 3, class: "end" }, name.length > 24 ? `${name.slice(0, 23)}…` : name),
      svg("g", {}, svg("title", {}, `${name}: ${mean.toFixed(3)}`), bar),
      svg("text", { x: Math.max(x(mean), x(high ?? 0)) + 6, y: y + row / 2 - 3, class: "start" }, mean.toFixed(2)),
    );
    if (low === null || high === null || high <= low) return;
    const middle = y + (row - 6) / 2;
    drawn.append(svg("path", { d: `M${x(low)} ${middle} H${x(high)} m0 -4 v8 M${x(low)} ${middle - 4} v8`, class: "range" }));
  });
  return drawn;
}

export function speedUps(study: Study): HTMLElement | null {
  if (barsOf(study, null).length === 0) return null;
  const choose = element(
    "select",
    {},
    element("option", { value: -1 }, "all groups: mean and range"),
    ...study.report.groups.map(({ keys }, i) => element("option", { value: i }, keysText(keys) || "all cells")),
  );
  const box = element("div", { class: "wide picture" });
  const show = () => {
    const group = Number(choose.value);
    box.replaceChildren(picture(study, barsOf(study, group < 0 ? null : group)));
  };
  choose.addEventListener("change", show);
  show();
  const baseline = study.report.baseline ? `Ratio of samples/s to ${keysText(study.report.baseline)}. ` : "";
  const help = element("p", { class: "help" }, `${baseline}Lines: the range over the groups, or a group's 95 % interval.`);
  return element("div", {}, element("label", { class: "chooser" }, "of ", choose), box, help);
}
