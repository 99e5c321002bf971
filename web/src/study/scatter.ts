// Charts of one figure over another, or over a key of the groups: points of each planner, and the Pareto front.
import uPlot from "uplot";
import { onRecolour, valueOf } from "../shared/colours";
import { element } from "../shared/dom";
import * as format from "../shared/format";
import { shortKey, textOf, type Entry, type Study, type Value } from "./data";
import { figuresOf, type Figure } from "./figures";
import { colourOfPlanner, dashOfPlanner } from "./planners";

const height = 360;

export interface Point {
  x: number;
  y: number;
  planner: number;
}

/** What the horizontal axis may show: a figure, or a key with the order of its values. */
interface Axis {
  heading: string;
  value: (entry: Entry) => number | null;
  text: (value: number) => string;
  isOrder: boolean;
}

const asAxis = ({ heading, value, text }: Figure): Axis => ({
  heading,
  text,
  isOrder: false,
  value: ({ line }) => {
    const found = value(line);
    return typeof found === "number" ? found : null;
  },
});

function axisOfKey(study: Study, key: string): Axis {
  const values = valuesOf(study, key);
  if (values.every((value) => typeof value === "number")) {
    return { heading: key, value: ({ keys }) => keys[key] as number, text: String, isOrder: false };
  }
  const texts = values.map((value) => JSON.stringify(value));
  return {
    heading: key,
    value: ({ keys }) => texts.indexOf(JSON.stringify(keys[key] ?? null)),
    text: (at) => (Number.isInteger(at) && at in values ? String(values[at]) : ""),
    isOrder: true,
  };
}

export function pointsOf(study: Study, entries: Entry[], x: Axis, y: Axis): Point[] {
  return entries.flatMap((entry) => {
    const [left, up] = [x.value(entry), y.value(entry)];
    return left === null || up === null ? [] : [{ x: left, y: up, planner: study.planners.indexOf(entry.planner) }];
  });
}

/** The points that no other one is at least as good as in both and better in one, less being better, from left to right. */
export function paretoFront(points: Point[]): Point[] {
  const front: Point[] = [];
  for (const point of [...points].sort((a, b) => a.x - b.x || a.y - b.y)) {
    if (front.length === 0 || point.y < front[front.length - 1].y) front.push(point);
  }
  return front;
}

/** Columns as uPlot takes them: one of x, and one for each planner, with a row for each point. */
function columnsOf(points: Point[], planners: number, front: Point[] | null): uPlot.AlignedData {
  const sorted = [...points].sort((a, b) => a.x - b.x);
  const columns: (number | null)[][] = Array.from({ length: planners }, () => sorted.map(() => null));
  sorted.forEach(({ y, planner }, i) => (columns[planner][i] = y));
  if (front) columns.push(sorted.map((point) => (front.includes(point) ? point.y : null)));
  return [sorted.map(({ x }) => x), ...columns] as uPlot.AlignedData;
}

/** The steps that an axis may have: of bytes powers of two, of the places in an order whole numbers. */
function stepsOf({ text, isOrder }: Axis): { incrs?: number[] } {
  if (isOrder) return { incrs: [1, 2, 5, 10, 20, 50] };
  return text === format.bytes ? { incrs: Array.from({ length: 61 }, (_, i) => 2 ** i) } : {};
}

class Scatter {
  readonly box = element("div", { class: "chart" });
  private plot: uPlot | null = null;

  constructor(
    private readonly study: Study,
    private readonly content: () => { points: Point[]; x: Axis; y: Axis; hasFront: boolean; isJoined: boolean },
  ) {
    new ResizeObserver(() => this.show()).observe(this.box);
    onRecolour(() => this.show());
  }

  show(): void {
    const width = this.box.clientWidth;
    if (width < 100) return;
    const { points, x, y, hasFront, isJoined } = this.content();
    const front = hasFront ? paretoFront(points) : null;
    const axis = { stroke: valueOf("--faint"), grid: { stroke: valueOf("--line"), width: 1 }, ticks: { show: false } };
    const show = (text: (value: number) => string) => (_: uPlot, value: number | null) => (value === null ? "" : text(value));
    const series: uPlot.Series[] = this.study.planners.map((label, i) => ({
      label,
      stroke: colourOfPlanner(i),
      dash: dashOfPlanner(i),
      width: isJoined ? 1.5 : 0,
      spanGaps: true,
      points: { show: true, size: 8, fill: colourOfPlanner(i) },
      value: show(y.text),
    }));
    if (front) {
      series.push({
        label: "Pareto front", stroke: valueOf("--accent"), width: 1.5, spanGaps: true, points: { show: false }, value: show(y.text),
      });
    }
    const room = (low: number, high: number): [number, number] => {
      const margin = (high - low || Math.abs(high) || 1) * 0.06;
      return [low - margin, high + margin];
    };
    this.plot?.destroy();
    this.plot = new uPlot(
      {
        width,
        height,
        padding: [12, 20, 0, 0],
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: false, range: (_, low, high) => room(low, high) }, y: { range: (_, low, high) => room(low, high) } },
        axes: [
          { ...axis, label: x.heading, space: 90, values: (_, at) => at.map(x.text), ...stepsOf(x) },
          { ...axis, label: y.heading, size: 90, values: (_, at) => at.map(y.text), ...stepsOf(y) },
        ],
        series: [{ label: x.heading, value: show(x.text) }, ...series],
      },
      columnsOf(points, this.study.planners.length, front),
      this.box,
    );
  }
}

function chooser(label: string, names: string[], change: () => void): { box: HTMLElement; at: () => number } {
  const select = element("select", {}, ...names.map((name, i) => element("option", { value: i }, name)));
  select.addEventListener("change", change);
  return { box: element("label", { class: "chooser" }, `${label} `, select), at: () => Number(select.value) };
}

/** The entries whose keys have the chosen values; a key without a choice may have any. */
export function filtered(entries: Entry[], choices: Map<string, Value>): Entry[] {
  const wanted = [...choices].map(([key, value]) => [key, JSON.stringify(value)]);
  return entries.filter(({ keys }) => wanted.every(([key, value]) => JSON.stringify(keys[key] ?? null) === value));
}

/** The values of a key, each once, in the order of the study. */
function valuesOf(study: Study, key: string): Value[] {
  return [...new Set(study.entries.map(({ keys }) => JSON.stringify(keys[key] ?? null)))].map((text) => JSON.parse(text) as Value);
}

/** Any figure over any key or figure, of all groups or of those with chosen values of the other keys. */
export function axesChart(study: Study): HTMLElement | null {
  const figures = figuresOf(study).map(asAxis);
  const keys = study.keys.map((key) => axisOfKey(study, key));
  const across = [...keys, ...figures];
  if (figures.length === 0 || study.entries.length < 2) return null;
  const filters = study.keys.map((key) => {
    const values = valuesOf(study, key);
    const { box, at } = chooser(shortKey(key, study.keys), ["all", ...values.map(textOf)], () => chart.show());
    return { key, box, choice: () => (at() === 0 ? [] : [values[at() - 1]]) };
  });
  const hideAcross = () => filters.forEach(({ box }, i) => (box.hidden = i === x.at()));
  const x = chooser("Across", across.map(({ heading }) => heading), () => (hideAcross(), chart.show()));
  const y = chooser("Up", figures.map(({ heading }) => heading), () => chart.show());
  const chart = new Scatter(study, () => {
    const [xAxis, yAxis] = [across[x.at()], figures[y.at()]];
    const others = filters.filter(({ box }) => !box.hidden);
    const choices = new Map(others.flatMap(({ key, choice }) => choice().map((value) => [key, value] as const)));
    const points = pointsOf(study, filtered(study.entries, choices), xAxis, yAxis);
    const isJoined = x.at() < keys.length && choices.size === others.length && !xAxis.isOrder;
    return { points, x: xAxis, y: yAxis, hasFront: false, isJoined };
  });
  hideAcross();
  const of = study.keys.length > 1 ? [element("div", { class: "toolbar filters" }, "of ", ...filters.map(({ box }) => box))] : [];
  return element("div", {}, element("div", { class: "toolbar" }, y.box, x.box), ...of, chart.box);
}

/** Time per sample against peak memory of a group's plans, with those that no other beats in both. */
export function memoryChart(study: Study, groups: string[]): HTMLElement | null {
  const figures = figuresOf(study);
  const memory = figures.find(({ key }) => key === "peak_memory_bytes");
  const rate = figures.find(({ key }) => key === "throughput_samples_per_s");
  if (!memory || !rate || study.planners.length < 2) return null;
  const y: Axis = {
    heading: "ms per sample",
    isOrder: false,
    text: (value) => `${Number(value.toPrecision(3))}`,
    value: ({ line }) => {
      const samples = rate.value(line);
      return typeof samples === "number" && samples > 0 ? 1000 / samples : null;
    },
  };
  const group = chooser("of", groups, () => chart.show());
  const chart = new Scatter(study, () => {
    const entries = study.entries.filter((entry) => entry.group === group.at());
    const x = asAxis(memory);
    return { points: pointsOf(study, entries, x, y), x, y, hasFront: true, isJoined: false };
  });
  return element("div", {}, group.box, chart.box);
}
