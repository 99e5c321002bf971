// The marks of the run above the rows: a line for each, and names where there is room.
import type { Mark } from "./data";
import { xOf, type Colours, type Scale } from "./drawing";

export const marksHeight = 16; // of the strip above the rows
const apart = 40; // pixels between lines that go through the rows at least; others end in the strip
const tick = 5; // pixels of a line that ends there
const beyond = 12; // pixels right of the rows that a name may take

/** The marks on one column of pixels. */
interface Place {
  x: number;
  marks: Mark[]; // those that tell most come first
}

function placesOf(marks: Mark[], scale: Scale): Place[] {
  const places: Place[] = [];
  for (const mark of marks) {
    const exact = xOf(scale, mark.at_s);
    if (exact < scale.left - 0.5 || exact > scale.right + 0.5) continue;
    const x = Math.round(exact) + 0.5;
    const last = places[places.length - 1];
    if (last?.x === x) last.marks.push(mark);
    else places.push({ x, marks: [mark] });
  }
  for (const place of places) place.marks.sort((a, b) => Number(a.is_end) - Number(b.is_end));
  return places;
}

function drawLines(canvas: CanvasRenderingContext2D, places: Place[], top: number, bottom: number): void {
  canvas.setLineDash([4, 3]);
  canvas.beginPath();
  let last = -Infinity;
  for (const { x } of places) {
    const isLong = x - last >= apart;
    canvas.moveTo(x, isLong ? top : top + marksHeight - tick);
    canvas.lineTo(x, isLong ? bottom : top + marksHeight);
    if (isLong) last = x;
  }
  canvas.stroke();
  canvas.setLineDash([]);
}

/** Names of events and other plans have the first choice of room, then those of the ends of iterations. */
function drawNames(canvas: CanvasRenderingContext2D, places: Place[], colours: Colours, scale: Scale, top: number): void {
  const taken: { left: number; right: number }[] = [];
  const isFree = (left: number, right: number) => taken.every((each) => right + 6 < each.left || left > each.right + 6);
  for (const ends of [false, true]) {
    for (const { x, marks } of places) {
      if (marks[0].is_end !== ends || !isFree(x, x)) continue;
      const name = marks.length > 1 ? `${marks[0].name} +${marks.length - 1}` : marks[0].name;
      const { width } = canvas.measureText(name);
      const left = x + 3 + width <= scale.right + beyond ? x + 3 : x - 3 - width;
      if (left < scale.left || !isFree(left, left + width)) continue;
      canvas.fillStyle = colours.back;
      canvas.fillRect(left - 1, top + 1, width + 2, marksHeight - tick - 1);
      canvas.fillStyle = colours.faint;
      canvas.fillText(name, left, top + marksHeight / 2 - 2);
      taken.push({ left: Math.min(left, x), right: Math.max(left + width, x) });
    }
  }
}

/** Draws the strip of marks that begins at `top`, and lines down to `bottom`. */
export function drawMarks(
  canvas: CanvasRenderingContext2D,
  colours: Colours,
  scale: Scale,
  marks: Mark[],
  top: number,
  bottom: number,
): void {
  const places = placesOf(marks, scale);
  canvas.strokeStyle = colours.mark;
  drawLines(canvas, places, top, bottom);
  canvas.textAlign = "left";
  drawNames(canvas, places, colours, scale, top);
}
