// Where the time of a device went.
import type { Values } from "./data";

/** The parts of it, in the order of the terminal's table. `ramps` is a part of `idle`. */
export const parts = ["compute", "recompute", "exposed_communication", "all_reduce", "all_reduce_wait", "update", "idle"];

export const wholeOf = (time: Values): number => parts.reduce((sum, part) => sum + (time[part] as number), 0);

/** Computing, over all of it. */
export function busyShare(time: Values): number {
  const whole = wholeOf(time);
  return whole > 0 ? ((time.compute as number) + (time.recompute as number) + (time.update as number)) / whole : 0;
}
