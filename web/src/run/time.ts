// Where the time of a device went.
import type { Values } from "./data";

/** The parts of it, in the order of the terminal's table. `ramps` is a part of `idle`. */
export const parts = ["compute", "recompute", "exchange", "exposed_communication", "all_reduce", "all_reduce_wait", "update", "idle"];

/** A run without groups has no `exchange`. */
export const partOf = (time: Values, part: string): number => (time[part] as number | undefined) ?? 0;

export const wholeOf = (time: Values): number => parts.reduce((sum, part) => sum + partOf(time, part), 0);

/** Computing, over all of it. */
export function busyShare(time: Values): number {
  const whole = wholeOf(time);
  const busy = ["compute", "recompute", "exchange", "update"].reduce((sum, part) => sum + partOf(time, part), 0);
  return whole > 0 ? busy / whole : 0;
}
