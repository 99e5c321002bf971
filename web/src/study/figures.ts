// The figures of a line: how they are called and shown.
import * as format from "../shared/format";
import { timeOf, type Line, type Study, type Value } from "./data";

export interface Figure {
  key: string;
  heading: string;
  value: (line: Line) => Value | undefined;
  text: (value: number) => string;
}

const plain = (key: string, heading: string, text: (value: number) => string): Figure => ({
  key,
  heading,
  value: (line) => line[key],
  text,
});

const usual: Figure[] = [
  plain("throughput_samples_per_s", "samples/s", format.number),
  plain("speed_up", "speed-up", (value) => value.toFixed(3)),
  { key: "time", heading: "time", value: timeOf, text: format.seconds },
  plain("prediction_error", "claim", format.signed),
  plain("bubble_ratio", "bubble", format.percent),
  plain("peak_memory_bytes", "peak memory", format.bytes),
];

// Shown elsewhere, or counts of cells.
const others = new Set([
  "name", "cells", "ok", "infeasible", "out_of_memory", "timeout", "crashed", "invalid", "not_run", "best", "speed_up_low",
  "speed_up_high", "speed_up_pairs", "iteration_time_s", "period_s", "resolved_schedule", "configuration", "rests_on",
  ...usual.map(({ key }) => key),
]);

const headingOf = (key: string): string => key.replace(/^resolved_/, "").replace(/_(bytes|s)$/, "").replaceAll("_", " ");

function textBy(key: string): (value: number) => string {
  if (key.endsWith("_bytes")) return format.bytes;
  if (key.endsWith("_s")) return format.seconds;
  if (key.endsWith("ratio") || key === "mfu") return format.percent;
  return format.number;
}

/** The usual figures, and all others that some line of the study has. */
export function figuresOf(study: Study): Figure[] {
  const lines = study.entries.map(({ line }) => line);
  const more = [...new Set(lines.flatMap((line) => Object.keys(line)))].filter((key) => !others.has(key));
  return [...usual, ...more.map((key) => plain(key, headingOf(key), textBy(key)))].filter(({ value }) =>
    lines.some((line) => typeof value(line) === "number"),
  );
}

/** How the cells of a line ended. */
export function outcomeOf(line: Line): string {
  const counts = ["ok", "infeasible", "out_of_memory", "timeout", "crashed", "invalid", "not_run"]
    .filter((status) => (line[status] as number) > 0)
    .map((status) => [status.replaceAll("_", " "), line[status] as number] as const);
  const text = counts.length === 1 ? counts[0][0] : counts.map(([status, count]) => `${count} ${status}`).join(", ");
  return line.best ? `${text}, best` : text;
}
