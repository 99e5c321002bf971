// What the critical path consists of.
import { classOf, type Columns } from "./data";
import * as format from "../shared/format";
import { letterOf, wordsOf } from "./kinds";

const leastShown = 0.0005; // of the run

interface Part {
  what: string;
  time: number;
}

/** ` of stage 2 on gpu2`, ` of stage 0, gpu0 → gpu1`. */
function whereIs(run: Columns, op: number): string {
  const { stage, from, to } = classOf(run, op);
  const of = stage === null ? "" : ` of stage ${stage}`;
  if (from === null) return of;
  const place = run.places[from].name;
  return to === null || to === from ? `${of} on ${place}` : `${of}, ${place} → ${run.places[to].name}`;
}

/** The time of the path by kind, stage and place, the longest first; what lies between its operations is waiting. */
export function partsOfPath(run: Columns): Part[] {
  const times = new Map<string, number>();
  const add = (what: string, time: number) => {
    if (time > 0) times.set(what, (times.get(what) ?? 0) + time);
  };
  let until = run.begin;
  let gap = "before it";
  for (const op of run.criticalPath) {
    const { op: kind } = classOf(run, op);
    add(gap, run.start[op] - until);
    gap = "waiting";
    add(letterOf(kind) === "" ? wordsOf(kind) : `${wordsOf(kind)}${whereIs(run, op)}`, run.end[op] - run.start[op]);
    until = run.end[op];
  }
  return [...times].map(([what, time]) => ({ what, time })).sort((a, b) => b.time - a.time);
}

/** `The critical path: backward of stage 3 on gpu3 45.0 %, …`. */
export function pathText(run: Columns, most: number): string {
  const whole = run.until - run.begin;
  if (run.criticalPath.length === 0 || whole <= 0) return "";
  const parts = partsOfPath(run).filter(({ time }) => time >= leastShown * whole);
  const listed = parts.slice(0, most).map(({ what, time }) => `${what} ${format.percent(time / whole)}`);
  return `The critical path: ${listed.join(", ")}${parts.length > most ? ", …" : ""}`;
}
