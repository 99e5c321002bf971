// How much of a link's bandwidth its transfers take over time. The record knows when each transfer ran and what it
// carried, but not how its rate changed. Transfers that are under way at once are taken to share the link evenly: while n
// of them are, each has 1/n of the rate that it would have alone, so that its whole is what it carries.
import type { Columns } from "./data";

/** A function of time with steps: from `at[i]` on it is `share[i]` of the bandwidth. */
export interface Load {
  at: Float64Array;
  share: Float64Array;
}

/** The transfers over a link that take time; what a failure ended counts no bytes in the report either. */
function transfersOver(run: Columns, link: number): number[] {
  const isOver = run.classes.map((each) => each.links.includes(link));
  const found: number[] = [];
  for (let op = 0; op < run.start.length; ++op) {
    if (isOver[run.classOf[op]] && run.end[op] > run.start[op] && !run.aborted.has(op)) found.push(op);
  }
  return found;
}

/** The position of the last date that is not later than another one. */
function lastUpTo(dates: Float64Array, date: number): number {
  let low = 0;
  let high = dates.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (dates[middle] <= date) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function loadOf(run: Columns, link: number): Load {
  const transfers = transfersOver(run, link);
  const at = Float64Array.from(new Set(transfers.flatMap((op) => [run.start[op], run.end[op]]))).sort();
  const steps = transfers.map((op) => [lastUpTo(at, run.start[op]), lastUpTo(at, run.end[op])]);
  const changes = new Float64Array(at.length + 1);
  for (const [begin, end] of steps) {
    ++changes[begin];
    --changes[end];
  }
  // How many transfers there are in each step, and the time that a transfer alone would have needed up to its begin.
  const counts = new Float64Array(at.length);
  const alone = new Float64Array(at.length);
  for (let i = 0, count = 0; i < at.length; ++i) {
    counts[i] = count += changes[i];
    if (i > 0) alone[i] = alone[i - 1] + (counts[i - 1] > 0 ? (at[i] - at[i - 1]) / counts[i - 1] : 0);
  }
  const rates = new Float64Array(at.length + 1);
  transfers.forEach((op, i) => {
    const [begin, end] = steps[i];
    const rate = run.classes[run.classOf[op]].bytes / (alone[end] - alone[begin]);
    rates[begin] += rate;
    rates[end] -= rate;
  });
  const share = new Float64Array(at.length);
  for (let i = 0, sum = 0; i < at.length; ++i) {
    sum += rates[i];
    share[i] = counts[i] > 0 ? sum / counts[i] / run.links[link].bandwidth : 0;
  }
  return { at, share };
}

/** The mean share in each of `columns` parts of the time from `from` to `to`. */
export function meanShares({ at, share }: Load, from: number, to: number, columns: number): Float64Array {
  const width = (to - from) / columns;
  const means = new Float64Array(columns);
  for (let i = Math.max(0, lastUpTo(at, from)); i + 1 < at.length && at[i] < to; ++i) {
    if (share[i] === 0) continue;
    const last = Math.min(columns - 1, Math.floor((at[i + 1] - from) / width));
    for (let column = Math.max(0, Math.floor((at[i] - from) / width)); column <= last; ++column) {
      const begin = from + column * width;
      const overlap = Math.min(at[i + 1], begin + width) - Math.max(at[i], begin);
      if (overlap > 0) means[column] += (share[i] * overlap) / width;
    }
  }
  return means;
}
