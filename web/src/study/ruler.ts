// Where speed-ups are, the same in bars and in rows of groups.
import type { Value } from "./data";

const right = 112; // pixels for the texts after the longest bar
const widest = 900;
const narrowest = 260;
const letter = 7.2; // pixels of a letter, generously

export interface Ruler {
  left: number; // names end before it
  width: number; // of the picture
  x: (value: number) => number;
}

/** A ruler from 0 to the most that there is, in so many pixels. */
export function rulerFor(most: number, room: number): Ruler {
  const width = Math.max(narrowest, Math.min(widest, room));
  const left = Math.min(270, Math.round(0.38 * width));
  return { left, width, x: (value) => left + ((width - left - right) * value) / most };
}

/** A name of some parts in the pixels left of a ruler; the longest parts lose their ends. */
export function shortened(parts: string[], { left }: Ruler): string {
  const room = Math.floor((left - 8) / letter);
  const cut = (most: number) => parts.map((part) => (part.length > most ? `${part.slice(0, most - 1)}…` : part)).join(", ");
  let most = room;
  while (most > 2 && cut(most).length > room) --most;
  return cut(most);
}

export const numberOrNull = (value: Value | undefined): number | null => (typeof value === "number" ? value : null);
