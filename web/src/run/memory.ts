// What a place holds over time, in as many points as a chart has pixels.
import type { MemoryChanges } from "./data";

export const categories = ["weights", "gradients", "optimizer", "stash", "buffers", "workspace"];

/** By how much dates may differ that are meant to be one (`date_noise` of the program). */
const noise = (date: number) => 2e-12 * Math.max(1, date);

/** For each of `columns` parts of the time from `from` to `to`: what is held where the part holds most, by category. */
export function heldMost(changes: MemoryChanges, from: number, to: number, columns: number): Float64Array[] {
  const width = (to - from) / columns;
  const held = new Float64Array(categories.length);
  const most = categories.map(() => new Float64Array(columns));
  const { at, category, bytes } = changes;
  let next = 0;
  const take = () => {
    held[category[next]] += bytes[next];
    ++next;
  };
  while (next < at.length && at[next] <= from) take();
  for (let column = 0; column < columns; ++column) {
    const until = column + 1 === columns ? to : from + (column + 1) * width;
    let best = -1;
    const keepMost = () => {
      const sum = held.reduce((total, each) => total + each, 0);
      if (sum <= best) return;
      best = sum;
      for (let i = 0; i < held.length; ++i) most[i][column] = held[i];
    };
    keepMost();
    while (next < at.length && at[next] <= until) {
      const same = at[next] + noise(at[next]);
      while (next < at.length && at[next] <= same) take(); // changes at one date are one change
      keepMost();
    }
  }
  return most;
}
