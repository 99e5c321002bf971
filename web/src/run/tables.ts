// Figures of the run: those that matter most, what was claimed for it, and its devices and links.
import type { Run, Value, Values } from "./data";
import { element, table } from "../shared/dom";
import * as format from "../shared/format";
import { busyShare, parts, wholeOf } from "./time";

const mostRows = 64;
const mostLacking = 6;

const optional = (value: Value | undefined, text: (value: number) => string): string =>
  typeof value === "number" ? text(value) : "-";

/** A figure with its name, if there is one. */
const known = (name: string, value: Value | undefined, text: (value: number) => string): [string, string][] =>
  typeof value === "number" ? [[name, text(value)]] : [];

const list = (value: Value | undefined): Values[] => (Array.isArray(value) ? (value as Values[]) : []);

const isPeriodic = (run: Run): boolean => typeof run.report.period_s === "number";

function fullest(run: Run): string {
  const device = list(run.report.devices).reduce<Values | null>((best, each) => {
    const share = (one: Values) => (one.peak_memory_bytes as number) / Math.max(one.memory_bytes as number, 1);
    return best === null || share(each) > share(best) ? each : best;
  }, null);
  if (!device) return "-";
  return `${format.bytes(device.peak_memory_bytes as number)} of ${format.bytes(device.memory_bytes as number)}`;
}

/** The most important figures, large. */
export function cards(run: Run): HTMLElement {
  const { report } = run;
  const figures: [string, string][] = [
    isPeriodic(run)
      ? ["period per microbatch", optional(report.period_s, format.seconds)]
      : ["iteration time", optional(report.iteration_time_s, format.seconds)],
    ["samples per second", optional(report.throughput_samples_per_s, format.number)],
    ...known("tokens per second", report.tokens_per_second, format.number),
    ...known("TFLOP/s per device", report.tflops_per_device, format.number),
    ...known("MFU", report.mfu, format.percent),
    ["bubble ratio", optional(report.bubble_ratio, format.percent)],
    ["fullest device", fullest(run)],
  ];
  return element(
    "dl",
    { class: "cards" },
    ...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

function largestPeak(figures: Values): string {
  const peaks = Object.values((figures.peak_memory_bytes ?? {}) as Values) as number[];
  return peaks.length > 0 ? format.bytes(Math.max(...peaks)) : "-";
}

/** What would make a plan fit that lacks memory. */
function remedies(run: Run): HTMLElement[] {
  if (run.remedies.length === 0) return [];
  const items = run.remedies.map((text) => element("li", {}, text));
  return [
    element("p", {}, "The plan would fit with any one of these (samples/s: without contention):"),
    element("ol", {}, ...items),
  ];
}

/** What makes the figures less than they seem: memory that lacks, a period that has not converged. */
export function warnings(run: Run): HTMLElement[] {
  const texts: string[] = [];
  const lacking = list(run.report.overflows);
  if (lacking.length > 0) {
    const places = lacking.slice(0, mostLacking).map((each) => {
      const excess = format.bytes(each.excess_bytes as number);
      return `${each.name} lacks ${excess} from ${format.seconds(each.at_s as number)} on`;
    });
    texts.push(`Out of memory: ${places.join(", ")}${lacking.length > mostLacking ? ", …" : ""}.`);
  }
  if (run.report.converged === false) texts.push("The period has not converged.");
  return [...texts.map((text) => element("p", { class: "warning" }, text)), ...remedies(run)];
}

/** What the planner claimed, what an evaluation without contention gives, what the run took, and what bounds it. */
export function claims(run: Run): HTMLElement {
  const { report } = run;
  const time = isPeriodic(run) ? "period_s" : "iteration_time_s";
  const simulated = report[time];
  const row = (name: string, figures: Values) => {
    const claimed = figures[time];
    const error = typeof claimed === "number" && typeof simulated === "number" ? claimed / simulated - 1 : null;
    return [
      name,
      optional(claimed, format.seconds),
      error === null ? "-" : format.signed(error),
      largestPeak(figures),
    ];
  };
  const peaks = Object.fromEntries(list(report.devices).map((each) => [each.name as string, each.peak_memory_bytes]));
  const rows = [
    row("the planner's claim", report.predicted as Values),
    row("evaluated without contention", report.evaluated as Values),
  ];
  if (report.engine === "replay") rows.push(row("replayed", { [time]: simulated, peak_memory_bytes: peaks }));
  if (typeof report.bound_s === "number") rows.push(row(`lower bound, by ${report.bound_by}`, { [time]: report.bound_s }));
  const least = report.least_possible as Values | null;
  if (least) {
    rows.push(row("any contiguous flushed plan, at least", { [time]: least.any_plan_of_class_s }));
    rows.push(row("all devices always busy", { [time]: least.work_s }));
  }
  return table(["", isPeriodic(run) ? "period" : "iteration time", "against the run", "largest peak"], rows, 1);
}

/** The parts of a device's time, as the terminal calls them. */
const words: { [part: string]: string } = {
  exposed_communication: "exposed communication",
  all_reduce: "all-reduce",
  all_reduce_wait: "all-reduce wait",
};
const wordsOf = (part: string): string => words[part] ?? part;

/** A bar of where the time of a device went. */
function split(time: Values): HTMLElement {
  const whole = wholeOf(time) || 1;
  const own = parts.filter((part) => part in time);
  const shares = own.map((part) => `${wordsOf(part)} ${format.percent((time[part] as number) / whole)}`);
  const bar = element("div", { class: "split", role: "img", title: shares.join("\n"), "aria-label": shares.join(", ") });
  for (const part of own) {
    const piece = element("span", { class: part });
    piece.style.width = `${(100 * (time[part] as number)) / whole}%`;
    bar.append(piece);
  }
  return bar;
}

const more = (rows: number): (Node | string)[] =>
  rows > mostRows ? [element("p", {}, `and ${rows - mostRows} more, which the JSON of the run lists`)] : [];

export function devices(run: Run): HTMLElement {
  const all = list(run.report.devices);
  const legend = element("p", { class: "legend" });
  for (const part of parts) {
    legend.append(element("span", { class: "entry" }, element("span", { class: `key ${part}` }), wordsOf(part)), " ");
  }
  const rows = all.slice(0, mostRows).map((device) => [
    device.name as string,
    (device.stages as number[]).join(", "),
    split(device.time as Values),
    format.percent(busyShare(device.time as Values)),
    String(device.in_flight_peak),
    format.bytes(device.peak_memory_bytes as number) +
      ((device.peak_memory_bytes as number) > (device.memory_bytes as number) ? "!" : ""),
    format.bytes(device.memory_bytes as number),
  ]);
  const header = ["device", "stages", "time", "busy", "in flight", "peak memory", "usable"];
  return element("div", {}, legend, table(header, rows, 3), ...more(all.length));
}

export function links(run: Run): HTMLElement | null {
  const all = list(run.report.links).sort((a, b) => (b.utilisation as number) - (a.utilisation as number));
  if (all.length === 0) return null;
  const carries = (link: Values) => list(link.carries).map((load) => load.what as string).join(", ");
  const rows = all.slice(0, mostRows).map((link) => [
    link.name as string,
    carries(link),
    format.bytes(link.bytes as number),
    format.percent(link.utilisation as number),
  ]);
  return element("div", {}, table(["link", "carries", "bytes", "busy"], rows, 2), ...more(all.length));
}

/** The changes of plan during the run, and what moved for them. */
export function replans(run: Run): HTMLElement | null {
  const changes = list(run.report.replans);
  if (changes.length === 0) return null;
  const rows = changes.map((each) => [
    optional(each.microbatch, String),
    optional(each.at_s, format.seconds),
    each.live ? "training went on" : "the pipeline drained",
    optional(each.moved_bytes, format.bytes),
    optional(each.stall_s, format.seconds),
    each.reason as string,
  ]);
  const moves = list(run.report.migrations).slice(0, mostRows).map((each) => [
    (each.layers as string[]).join(", "),
    each.what as string,
    `${each.from} → ${each.to}`,
    optional(each.start_s, format.seconds),
    optional(each.end_s, format.seconds),
    optional(each.bytes, format.bytes),
  ]);
  return element(
    "div",
    {},
    table(["from microbatch", "at", "meanwhile", "moved", "stall", "reason"], rows, 6),
    ...(moves.length > 0 ? [table(["moved", "what", "way", "from", "to", "bytes"], moves, 3)] : []),
    ...more(list(run.report.migrations).length),
  );
}
