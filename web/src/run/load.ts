// How much of a link's bandwidth its transfers take over time: each counts with its mean rate.
import { type Columns } from "./data";

/** The transfers over a link, in the order of their starts. */
export function transfersOver(run: Columns, link: number): Uint32Array {
  const isOver = run.classes.map((each) => each.links.includes(link));
  const found: number[] = [];
  for (let op = 0; op < run.start.length; ++op) {
    if (isOver[run.classOf[op]]) found.push(op);
  }
  return Uint32Array.from(found);
}

/** The mean share of the bandwidth in each of `columns` parts of the time from `from` to `to`. */
export function shareTaken(
  run: Columns,
  link: number,
  transfers: Uint32Array,
  from: number,
  to: number,
  columns: number,
): Float64Array {
  const width = (to - from) / columns;
  const shares = new Float64Array(columns);
  const { bandwidth } = run.links[link];
  for (const op of transfers) {
    const [start, end] = [run.start[op], run.end[op]];
    if (end <= from || start >= to || end <= start) continue;
    const share = run.classes[run.classOf[op]].bytes / (end - start) / bandwidth;
    const last = Math.min(columns - 1, Math.floor((end - from) / width));
    for (let column = Math.max(0, Math.floor((start - from) / width)); column <= last; ++column) {
      const begin = from + column * width;
      const overlap = Math.min(end, begin + width) - Math.max(start, begin);
      if (overlap > 0) shares[column] += (share * overlap) / width;
    }
  }
  return shares;
}
