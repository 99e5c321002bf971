// Charts over the same time as the timeline: memory of a place, load of a link, throughput.
import uPlot from "uplot";
import type { Run, Values } from "./data";
import { element } from "../shared/dom";
import * as format from "../shared/format";
import { onRecolour, valueOf } from "../shared/colours";
import { colourOf } from "./kinds";
import { loadOf, meanShares } from "./load";
import { categories, heldMost } from "./memory";
import { gutter, margin } from "./timeline";
import type { TimeWindow } from "./window";

const height = 170;

interface Look {
  series: uPlot.Series[];
  unit: (value: number) => string;
  most?: number; // the axis reaches at least so far
  steps?: number[]; // that the axis may have
}

/** Steps between round numbers of bytes: powers of two. */
const byteSteps = Array.from({ length: 61 }, (_, i) => 2 ** i);

/** A chart whose data are made anew for whatever part of the run is shown. */
class Chart {
  readonly box = element("div", { class: "chart" });
  private plot: uPlot | null = null;
  private isWaiting = false;

  constructor(
    private readonly window: TimeWindow,
    private readonly options: () => Look,
    private readonly columns: (from: number, to: number, columns: number) => (number | null)[][],
  ) {
    window.onChange(() => this.refresh());
    new ResizeObserver(() => this.rebuild()).observe(this.box);
    onRecolour(() => this.rebuild());
  }

  /** Draws with the colours and series as they are now. */
  rebuild(): void {
    const width = this.box.clientWidth;
    if (width <= gutter() + margin) return;
    const { series, unit, most, steps } = this.options();
    const axis = { stroke: valueOf("--faint"), grid: { stroke: valueOf("--line"), width: 1 }, ticks: { show: false } };
    this.plot?.destroy();
    this.plot = new uPlot(
      {
        width,
        height,
        padding: [8, margin, 0, 0],
        cursor: { drag: { x: false, y: false } },
        legend: { live: true },
        scales: { x: { time: false }, y: { range: (_, __, top) => [0, Math.max(top, most ?? 0, 1e-12) * 1.05] } },
        axes: [
          { ...axis, values: (_, at, __, ___, step) => at.map((date) => format.date(date, step)), space: 110 },
          { ...axis, size: gutter(), values: (_, at) => at.map(unit), ...(steps ? { incrs: steps } : {}) },
        ],
        series: [{ label: "at", value: (_, date) => (date === null ? "" : format.seconds(date)) }, ...series],
      },
      this.data(),
      this.box,
    );
  }

  private refresh(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.plot?.setData(this.data());
    });
  }

  private data(): uPlot.AlignedData {
    const columns = Math.max(2, Math.round(this.box.clientWidth - gutter() - margin));
    const { from, to } = this.window;
    const at = Array.from({ length: columns }, (_, i) => from + ((to - from) * i) / (columns - 1));
    return [at, ...this.columns(from, to, columns)] as uPlot.AlignedData;
  }
}

function chooser<T>(label: string, choices: { value: T; name: string }[], change: (value: T) => void): HTMLElement {
  const select = element(
    "select",
    {},
    ...choices.map(({ name }, i) => element("option", { value: i }, name)),
  );
  select.addEventListener("change", () => change(choices[Number(select.value)].value));
  return element("label", { class: "chooser" }, `${label} `, select);
}

const values = (value: unknown): Values[] => (Array.isArray(value) ? (value as Values[]) : []);

/** The memory of a place, by category one upon the other, and how much it has. The fullest comes first. */
export function memoryChart(run: Run, window: TimeWindow): HTMLElement {
  const capacities = new Map(
    [...values(run.report.devices), ...values(run.report.hosts)].map((each) => [
      each.name as string,
      { peak: each.peak_memory_bytes as number, capacity: each.memory_bytes as number },
    ]),
  );
  const of = (place: number) => capacities.get(run.places[place].name) ?? { peak: 0, capacity: 0 };
  const fullness = (place: number) => of(place).peak / Math.max(of(place).capacity, 1);
  const fullest = run.memory.reduce((best, each) => (fullness(each.place) > fullness(best.place) ? each : best));
  let shown = fullest;
  const chart = new Chart(
    window,
    () => ({
      unit: format.bytes,
      steps: byteSteps,
      most: of(shown.place).peak > 0.5 * of(shown.place).capacity ? of(shown.place).capacity : of(shown.place).peak,
      series: [
        // The highest area comes first, because each hides what lies below it.
        ...[...categories].reverse().map((name) => ({
          label: name,
          fill: valueOf(`--${name}`),
          stroke: valueOf(`--${name}`),
          width: 0,
          points: { show: false },
          value: (plot: uPlot, _: number, series: number, at: number | null) => {
            if (at === null) return "";
            const below = series < categories.length ? (plot.data[series + 1][at] ?? 0) : 0;
            return format.bytes((plot.data[series][at] ?? 0) - below);
          },
        })),
        {
          label: "usable",
          stroke: valueOf("--accent"),
          dash: [6, 4],
          width: 1.5,
          points: { show: false },
          value: (_, value) => (value === null ? "" : format.bytes(value)),
        },
      ],
    }),
    (from, to, columns) => {
      const held = heldMost(shown, from, to, columns);
      const sums = held.map(() => new Array<number>(columns).fill(0));
      for (let column = 0; column < columns; ++column) {
        let sum = 0;
        held.forEach((each, i) => (sums[i][column] = sum += each[column]));
      }
      return [...sums.reverse(), new Array<number>(columns).fill(of(shown.place).capacity)];
    },
  );
  const choose = chooser(
    "of",
    [fullest, ...run.memory.filter((each) => each !== fullest)].map((each) => ({
      value: each,
      name: `${run.places[each.place].name}, at most ${format.bytes(of(each.place).peak)}, usable ${format.bytes(of(each.place).capacity)}`,
    })),
    (each) => {
      shown = each;
      chart.rebuild();
    },
  );
  return element("div", {}, choose, chart.box);
}

/** The share of a link's bandwidth that is taken; the busiest link comes first. */
export function linkChart(run: Run, window: TimeWindow): HTMLElement | null {
  const numbers = new Map(run.links.map((link, i) => [link.name, i]));
  const links = values(run.report.links)
    .map((each) => ({ value: numbers.get(each.name as string), name: each.name as string, use: each.utilisation as number }))
    .filter((each): each is { value: number; name: string; use: number } => each.value !== undefined)
    .sort((a, b) => b.use - a.use);
  if (links.length === 0) return null;
  let shown = links[0].value;
  let load = loadOf(run, shown);
  const chart = new Chart(
    window,
    () => ({
      unit: format.percent,
      most: 1,
      series: [
        {
          label: "of the bandwidth",
          stroke: valueOf(colourOf("activation")),
          fill: valueOf("--soft"),
          points: { show: false },
          value: (_, value) => (value === null ? "" : format.percent(value)),
        },
      ],
    }),
    (from, to, columns) => [Array.from(meanShares(load, from, to, columns))],
  );
  const choose = chooser(
    "of",
    links.map(({ value, name, use }) => ({ value, name: `${name}, ${format.percent(use)} on average` })),
    (link) => {
      shown = link;
      load = loadOf(run, link);
      chart.rebuild();
    },
  );
  return element("div", {}, choose, chart.box);
}

/** Samples per second over time, of a run that is divided into windows. */
export function throughputChart(run: Run, window: TimeWindow): HTMLElement | null {
  const windows = values(run.report.windows);
  if (windows.length < 2) return null;
  const chart = new Chart(
    window,
    () => ({
      unit: format.number,
      series: [
        {
          label: "samples/s",
          stroke: valueOf(colourOf("forward")),
          fill: valueOf("--soft"),
          points: { show: false },
          value: (_, value) => (value === null ? "" : format.number(value)),
        },
      ],
    }),
    (from, to, columns) => {
      let next = 0;
      const rates = Array.from({ length: columns }, (_, i) => {
        const at = from + ((to - from) * i) / (columns - 1);
        while (next < windows.length && (windows[next].at_s as number) < at) ++next;
        return next < windows.length ? (windows[next].throughput_samples_per_s as number) : null;
      });
      return [rates];
    },
  );
  return chart.box;
}
