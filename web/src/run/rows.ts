// The rows of the timeline: one for each track that is shown, with its height.
import { rowOf, type Columns } from "./data";

export interface Row {
  track: number;
  top: number;
  height: number;
  label: string;
  isFirstOfPlace: boolean;
}

const computeHeights = { most: 24, least: 10 };
const transferHeight = 10;
const between = { rows: 2, places: 6 };
const wanted = 640; // pixels for all rows, if that leaves them high enough

export function rowsOf(run: Columns, withTransfers: boolean): { rows: Row[]; height: number } {
  const shown = run.tracks.map((_, i) => i).filter((i) => withTransfers || run.tracks[i].computes);
  const compute = Math.min(computeHeights.most, Math.max(computeHeights.least, Math.floor(wanted / shown.length)));
  const rows: Row[] = [];
  let top = 0;
  let place = -1;
  for (const track of shown) {
    const { place: own, name, computes } = run.tracks[track];
    const isFirstOfPlace = own !== place;
    if (rows.length > 0) top += isFirstOfPlace ? between.places : between.rows;
    const height = computes ? compute : transferHeight;
    const label = isFirstOfPlace ? run.places[own].name : computes ? "" : name;
    rows.push({ track, top, height, label, isFirstOfPlace });
    top += height;
    place = own;
  }
  return { rows, height: top };
}

/** The operations of a track in the order of their starts; they do not overlap. */
export const opsOf = (run: Columns, track: number): Uint32Array => rowOf(run.opsOfTrack, track);

/** The position of the first operation that ends after a date. */
export function firstAfter(run: Columns, ops: Uint32Array, date: number): number {
  let low = 0;
  let high = ops.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.end[ops[middle]] > date) high = middle;
    else low = middle + 1;
  }
  return low;
}
