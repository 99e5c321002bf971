// The data of the page as the program writes them: those of `report --json`, and the text of the report.

import type { CellTimeline } from "./timelines";

export type Value = null | boolean | number | string | Value[] | { [key: string]: Value };
export type Values = { [key: string]: Value };

export interface Line extends Values {
  name: string;
  best: boolean;
}

interface StudyData {
  text: string;
  timelines: CellTimeline[];
  report: {
    study: string;
    cells: number;
    rows: number;
    constant: Values;
    baseline: Values | null;
    overall: ({ name: string } & Values)[];
    groups: { keys: Values; lines: Line[] }[];
    reasons: { status: string; message: string; cells: number }[];
    notes: string[];
  };
}

/** A line of the study: a planner in a group. */
export interface Entry {
  keys: Values;
  planner: string;
  group: number;
  line: Line;
}

export interface Study extends StudyData {
  entries: Entry[];
  keys: string[]; // that tell groups apart
  planners: string[];
}

export function readStudy(json: string): Study {
  const data: StudyData = JSON.parse(json);
  const { groups, overall } = data.report;
  const entries = groups.flatMap(({ keys, lines }, group) =>
    lines.map((line) => ({ keys, planner: line.name, group, line })),
  );
  return {
    ...data,
    entries,
    keys: [...new Set(groups.flatMap(({ keys }) => Object.keys(keys)))],
    planners: overall.map(({ name }) => name),
  };
}

export const textOf = (value: Value | undefined): string =>
  value === null || value === undefined ? "-" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** The end of a key's path that no other key has, such as `bandwidth` of `platform.links.bandwidth`. */
export function shortKey(key: string, keys: string[]): string {
  const parts = key.split(".");
  for (let i = parts.length - 1; i > 0; --i) {
    const end = parts.slice(i).join(".");
    if (keys.every((other) => other === key || !`.${other}`.endsWith(`.${end}`))) return end;
  }
  return key;
}

/** `model vgg16, nodes 4`. */
export const keysText = (keys: Values): string =>
  Object.entries(keys)
    .map(([key, value]) => `${key} ${textOf(value)}`)
    .join(", ");

/** Iteration time, or the period of one microbatch. */
export const timeOf = (line: Line): number | null =>
  (line.period_s as number | null) ?? (line.iteration_time_s as number | null) ?? null;
