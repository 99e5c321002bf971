// The rows of the timeline: one for each track that is shown, with its height.
import { computingTracks, type StandIns } from "./alike";
import { rowOf, type Columns } from "./data";

export interface Row {
  track: number;
  alike: number[]; // the tracks of other places that it stands for
  top: number;
  height: number;
  label: string;
  more: string; // ` +7` for that many other places
  isFirstOfPlace: boolean;
}

const computeHeights = { most: 24, least: 10 };
const transferHeight = 10;
const between = { rows: 2, places: 6 };
const wanted = 640; // pixels for all rows, if that leaves them high enough

/** With stand-ins, a place has no rows if another one stands for it. */
export function rowsOf(run: Columns, withTransfers: boolean, standIns: StandIns | null): { rows: Row[]; height: number } {
  const isShown = ({ place, computes }: Columns["tracks"][number]) =>
    (withTransfers || computes) && (!standIns || standIns[place] === place);
  const shown = run.tracks.map((_, i) => i).filter((i) => isShown(run.tracks[i]));
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
    rows.push({ track, alike: [], top, height, label, more: "", isFirstOfPlace });
    top += height;
    place = own;
  }
  if (standIns) fold(run, rows, standIns);
  return { rows, height: top };
}

/** Tells the rows that stand for other places so. */
function fold(run: Columns, rows: Row[], standIns: StandIns): void {
  const tracks = computingTracks(run);
  const rowOfTrack = new Map(rows.map((row) => [row.track, row]));
  standIns.forEach((standIn, place) => {
    if (standIn === place) return;
    tracks[standIn].forEach((track, i) => rowOfTrack.get(track)?.alike.push(tracks[place][i]));
  });
  for (const row of rows) {
    if (row.isFirstOfPlace && row.alike.length > 0) row.more = ` +${row.alike.length}`;
  }
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
