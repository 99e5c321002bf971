// The data of the page as the program writes them (experiments/view/run_page.cpp), and what is derived from them.

export interface Place {
  name: string;
  is_device: boolean;
  node: number | null;
}

export interface Track {
  place: number;
  name: string;
  computes: boolean;
}

/** What several operations have in common. */
export interface OpClass {
  op: string;
  stage: number | null;
  track: number | null;
  from: number | null;
  to: number | null;
  bytes: number;
  links: number[];
}

export interface Link {
  name: string;
  bandwidth: number;
}

export interface Layer {
  name: string;
  forward_s: number;
  backward_s: number;
  parameters_bytes: number;
}

export interface Stage {
  layers: number[];
  devices: number[];
}

/** An instant of the whole run: the end of an iteration, an event, another plan. */
export interface Mark {
  at_s: number;
  name: string;
  is_end: boolean; // of an iteration or a microbatch
}

export type Value = null | boolean | number | string | Value[] | { [key: string]: Value };
export type Values = { [key: string]: Value };

/** The record of a run as the program writes it (experiments/view/run_columns.cpp). */
export interface WrittenColumns {
  places: Place[];
  links: Link[];
  tracks: Track[];
  classes: OpClass[];
  sets: number[][]; // the classes of the operations of a row
  // By row: neighbours that run at the same time, as members of a group do.
  operations: { start_s: string; end_s: string; set: string; microbatch: string; aborted: string };
  waits: { begin: string; on: string; critical_path: string }; // `on`: see `readOperations`
  memory: { places: number[]; at_s: string; category: string; bytes: string }[];
  marks: Mark[]; // in the order of time
}

/** What the page of a run has besides. */
interface About {
  model: string;
  platform: string;
  planner: string;
  microbatches: string; // how many of how many samples, and what groups and replicas divide
  report: Values;
  text: string;
  bottleneck: string;
  remedies: string[]; // changes of which each would make the plan fit
  layers: Layer[];
  stages: Stage[];
  window: { from_s: number; to_s: number } | null; // the part of the run that the columns have
}

/** For each row numbers of some kind, one after the other. */
export interface Rows {
  begin: Uint32Array;
  all: Uint32Array;
}

/** The changes of what a place holds. */
export interface MemoryChanges {
  place: number;
  at: Float64Array;
  category: Uint32Array;
  bytes: Float64Array;
}

/** The record of a run. Operations are numbered as in `simulate --timeline --json`, in the order of their starts. */
export interface Columns extends Omit<WrittenColumns, "sets" | "operations" | "waits" | "memory"> {
  start: Float64Array;
  end: Float64Array;
  classOf: Uint32Array;
  microbatch: Uint32Array;
  aborted: Set<number>;
  waitsFor: Rows;
  waitedForBy: Rows;
  criticalPath: Uint32Array;
  opsOfTrack: Rows;
  memory: MemoryChanges[];
  begin: number;
  until: number;
}

/** A run with its report. */
export type Run = About & Columns;

export const rowOf = (rows: Rows, i: number): Uint32Array => rows.all.subarray(rows.begin[i], rows.begin[i + 1]);

export const classOf = (run: Columns, op: number): OpClass => run.classes[run.classOf[op]];

function bytesOf(base64: string): ArrayBuffer {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

const times = (base64: string) => new Float64Array(bytesOf(base64));
const numbers = (base64: string) => new Uint32Array(bytesOf(base64));

/** Groups the numbers 0, 1, … by the row that each is in, of so many rows; -1 is none. Keeps their order in a row. */
function grouped(count: number, rows: number, rowAt: (i: number) => number): Rows {
  const begin = new Uint32Array(rows + 1);
  for (let i = 0; i < count; ++i) {
    const row = rowAt(i);
    if (row >= 0) ++begin[row + 1];
  }
  for (let row = 0; row < rows; ++row) begin[row + 1] += begin[row];
  const next = begin.slice();
  const all = new Uint32Array(begin[rows]);
  for (let i = 0; i < count; ++i) {
    const row = rowAt(i);
    if (row >= 0) all[next[row]++] = i;
  }
  return { begin, all };
}

/** Who waits for whom, the other way round. */
function reversed(waits: Rows, count: number): Rows {
  const waiting = new Uint32Array(waits.all.length);
  for (let op = 0; op < count; ++op) waiting.fill(op, waits.begin[op], waits.begin[op + 1]);
  const positions = grouped(waits.all.length, count, (i) => waits.all[i]);
  return { begin: positions.begin, all: positions.all.map((i) => waiting[i]) };
}

/**
 * Every operation of each row, numbered on from row to row. What the first one of a row waited for is written as twice
 * its number, plus one if the operation that is k places later waited for the one that is k places later.
 */
export function readOperations({ sets, operations, waits }: Pick<WrittenColumns, "sets" | "operations" | "waits">) {
  const [starts, ends] = [times(operations.start_s), times(operations.end_s)];
  const [setOf, microbatches] = [numbers(operations.set), numbers(operations.microbatch)];
  const [begins, on] = [numbers(waits.begin), numbers(waits.on)];
  const abortedRows = new Set(numbers(operations.aborted));
  let count = 0;
  let countOfWaits = 0;
  setOf.forEach((set, row) => {
    count += sets[set].length;
    countOfWaits += sets[set].length * (begins[row + 1] - begins[row]);
  });
  const [start, end] = [new Float64Array(count), new Float64Array(count)];
  const [classes, microbatch] = [new Uint32Array(count), new Uint32Array(count)];
  const waitsFor = { begin: new Uint32Array(count + 1), all: new Uint32Array(countOfWaits) };
  const aborted = new Set<number>();
  let op = 0;
  let wait = 0;
  for (let row = 0; row < setOf.length; ++row) {
    const members = sets[setOf[row]];
    start.fill(starts[row], op, op + members.length);
    end.fill(ends[row], op, op + members.length);
    microbatch.fill(microbatches[row], op, op + members.length);
    for (let k = 0; k < members.length; ++k, ++op) {
      classes[op] = members[k];
      if (abortedRows.has(row)) aborted.add(op);
      for (let i = begins[row]; i < begins[row + 1]; ++i) waitsFor.all[wait++] = (on[i] >>> 1) + (on[i] & 1) * k;
      waitsFor.begin[op + 1] = wait;
    }
  }
  return { start, end, classOf: classes, microbatch, aborted, waitsFor };
}

export function readColumns(written: WrittenColumns): Columns {
  const { waits, memory, places, links, tracks, classes, marks } = written;
  const operations = readOperations(written);
  const { start, end, waitsFor } = operations;
  return {
    places,
    links,
    tracks,
    classes,
    marks,
    ...operations,
    waitedForBy: reversed(waitsFor, start.length),
    criticalPath: numbers(waits.critical_path),
    opsOfTrack: grouped(start.length, tracks.length, (i) => classes[operations.classOf[i]].track ?? -1),
    memory: memory.flatMap(readMemory).sort((a, b) => a.place - b.place),
    begin: start.length > 0 ? start[0] : 0,
    until: end.reduce((latest, each) => Math.max(latest, each), 0),
  };
}

/** The changes of each of the places that hold the same. */
function readMemory({ places, ...changes }: WrittenColumns["memory"][number]): MemoryChanges[] {
  const [at, category, bytes] = [times(changes.at_s), numbers(changes.category), times(changes.bytes)];
  return places.map((place) => ({ place, at, category, bytes }));
}

export function readRun(json: string): Run {
  const { sets, operations, waits, memory, ...rest }: About & WrittenColumns = JSON.parse(json);
  return { ...rest, ...readColumns({ ...rest, sets, operations, waits, memory }) };
}
