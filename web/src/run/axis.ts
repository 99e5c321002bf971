// The axis of dates above the rows.
import * as format from "../shared/format";
import { dateAt, xOf, type Colours, type Scale } from "./drawing";

const apart = 110; // pixels between two dates at least

/** A round step that leaves dates far enough apart. */
export function stepOf(perSecond: number): number {
  const least = apart / perSecond;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

/** Draws dates at the top and thin lines down to `height`. The lines of short steps show what lies after `scale.from`. */
export function drawAxis(
  canvas: CanvasRenderingContext2D,
  colours: Colours,
  scale: Scale,
  height: number,
  axisHeight: number,
): void {
  const step = stepOf(scale.perSecond);
  const until = dateAt(scale, scale.right);
  canvas.fillStyle = colours.faint;
  canvas.strokeStyle = colours.line;
  canvas.textAlign = "left";
  canvas.beginPath();
  for (let i = Math.ceil(scale.from / step); i * step <= until; ++i) {
    const x = Math.round(xOf(scale, i * step)) + 0.5;
    canvas.moveTo(x, axisHeight - 6);
    canvas.lineTo(x, height);
    const date = format.date(i * step, step);
    if (x + 3 + canvas.measureText(date).width < scale.right + 10) canvas.fillText(date, x + 3, axisHeight / 2);
  }
  canvas.stroke();
}
