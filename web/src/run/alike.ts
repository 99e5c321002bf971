// Places of a large run that compute alike: the first of them can stand for those that follow it.
import { rowOf, type Columns } from "./data";

const fewPlaces = 24; // that are shown each by itself
const noise = 1e-9; // of the run's length: what two dates may differ by and still be the same

/** For each place the place whose rows show what it computes: itself, or one before it. */
export type StandIns = Uint32Array;

/** For each place its tracks that compute. */
export function computingTracks(run: Columns): number[][] {
  const tracks: number[][] = run.places.map(() => []);
  run.tracks.forEach(({ place, computes }, track) => {
    if (computes) tracks[place].push(track);
  });
  return tracks;
}

/** For each class a number that it shares with those of the same kind and stage. */
function looksOf(run: Columns): Uint32Array {
  const numbers = new Map<string, number>();
  return Uint32Array.from(run.classes, ({ op, stage }) => {
    const name = `${op} ${stage}`;
    if (!numbers.has(name)) numbers.set(name, numbers.size);
    return numbers.get(name) as number;
  });
}

/** Whether two tracks have operations of the same kinds and stages at the same dates. Microbatches may differ. */
function areAlike(run: Columns, looks: Uint32Array, first: number, second: number): boolean {
  const [ops, others] = [rowOf(run.opsOfTrack, first), rowOf(run.opsOfTrack, second)];
  const same = noise * (run.until - run.begin);
  return (
    ops.length === others.length &&
    ops.every((op, i) => {
      const other = others[i];
      return (
        looks[run.classOf[op]] === looks[run.classOf[other]] &&
        Math.abs(run.start[op] - run.start[other]) <= same &&
        Math.abs(run.end[op] - run.end[other]) <= same &&
        run.aborted.has(op) === run.aborted.has(other)
      );
    })
  );
}

/** The stand-ins of a run that has many places; null if every place stands for itself. Linear in operations. */
export function standInsOf(run: Columns): StandIns | null {
  const tracks = computingTracks(run);
  const computing = run.places.map((_, place) => place).filter((place) => tracks[place].length > 0);
  if (computing.length <= fewPlaces) return null;
  const looks = looksOf(run);
  const standIns = Uint32Array.from(run.places, (_, place) => place);
  let first = computing[0];
  for (const place of computing.slice(1)) {
    const isAlike =
      tracks[place].length === tracks[first].length &&
      tracks[place].every((track, i) => areAlike(run, looks, tracks[first][i], track));
    if (isAlike) standIns[place] = first;
    else first = place;
  }
  return standIns.some((standIn, place) => standIn !== place) ? standIns : null;
}
