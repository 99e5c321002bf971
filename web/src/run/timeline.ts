// The timeline: rows of operations on a canvas that stays where it is while its rows scroll.
import { standInsOf, type StandIns } from "./alike";
import { drawAxis } from "./axis";
import { classOf, rowOf, type Columns, type Mark } from "./data";
import { onRecolour } from "../shared/colours";
import { element } from "../shared/dom";
import { Colours, dateAt, Drawing, xOf, type Scale } from "./drawing";
import { drawMarks, marksHeight } from "./marks";
import { firstAfter, opsOf, rowsOf, type Row } from "./rows";
import type { TimeWindow } from "./window";

/** Pixels left of the first date, here and in the charts. */
export const gutter = (): number => (innerWidth < 700 ? 84 : 150);
export const margin = 12; // pixels right of the last date
const axisHeight = 24;
const near = 4; // pixels between the pointer and a mark
const mostHeight = 560;
const dimmed = 0.22;
const mostArrows = 200;

/** What lies under a point: an operation, or the gap before one, or after the last one. */
export interface Hit {
  row: Row;
  date: number;
  op: number | null;
  next: number | null;
}

export class Timeline {
  readonly canvas = element("canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "timeline of the run; arrow keys move, plus and minus zoom, Enter selects an operation",
  });
  readonly box: HTMLElement;
  showsPath = false;
  showsTransfers = true;
  folds = true;
  private rows: Row[] = [];
  private rowOfTrack = new Map<number, Row>();
  private rowsHeight = 0;
  private colours = new Colours();
  private isWaiting = false;
  private chosen: number | null = null;
  private readonly spacer = element("div", { class: "spacer" });
  private readonly drawing: Drawing;
  private readonly onPath: Uint8Array;
  private readonly top: number; // of the rows
  private readonly standIns: StandIns | null;
  private readonly listeners: ((op: number | null) => void)[] = [];

  constructor(
    readonly run: Columns,
    readonly window: TimeWindow,
  ) {
    this.drawing = new Drawing(run);
    this.onPath = new Uint8Array(run.start.length);
    for (const op of run.criticalPath) this.onPath[op] = 1;
    this.top = axisHeight + (run.marks.length > 0 ? marksHeight : 0);
    this.standIns = standInsOf(run);
    this.box = element("div", { class: "timeline" }, this.canvas, this.spacer);
    this.box.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.resize()).observe(this.box);
    onRecolour(() => this.recolour());
    window.onChange(() => this.redraw());
    this.layOut();
  }

  get selected(): number | null {
    return this.chosen;
  }

  onSelect(listener: (op: number | null) => void): void {
    this.listeners.push(listener);
  }

  select(op: number | null): void {
    this.chosen = op;
    if (op !== null) {
      this.uncover(op);
      this.window.reveal(this.run.start[op], this.run.end[op]);
      this.scrollTo(op);
    }
    for (const listener of this.listeners) listener(op);
    this.redraw();
  }

  togglePath(): void {
    this.showsPath = !this.showsPath;
    this.redraw();
  }

  toggleTransfers(): void {
    this.showsTransfers = !this.showsTransfers;
    this.layOut();
    this.resize();
  }

  /** Whether places compute alike, so that some can share the rows of others. */
  get canFold(): boolean {
    return this.standIns !== null;
  }

  toggleFolds(): void {
    this.folds = !this.folds;
    this.layOut();
    this.resize();
  }

  recolour(): void {
    this.colours = new Colours();
    this.redraw();
  }

  get scale(): Scale {
    const left = gutter();
    const right = Math.max(this.canvas.clientWidth - margin, left + 1);
    return { from: this.window.from, perSecond: (right - left) / Math.max(this.window.span, 1e-300), left, right };
  }

  /** What lies at a point of the canvas. */
  hit(x: number, y: number): Hit | null {
    const { scale } = this;
    if (x < scale.left || x > scale.right || y < this.top) return null;
    const height = y - this.top + this.box.scrollTop;
    const row = this.rows.find((each) => height >= each.top && height < each.top + each.height);
    if (!row) return null;
    const date = dateAt(scale, x);
    const ops = opsOf(this.run, row.track);
    const at = firstAfter(this.run, ops, dateAt(scale, x - 1));
    const next = at < ops.length ? ops[at] : null;
    const isOn = next !== null && this.run.start[next] <= dateAt(scale, x + 1);
    return { row, date, op: isOn ? next : null, next };
  }

  /** The marks at a point above the rows; none if there are none. */
  marksAt(x: number, y: number): Mark[] | null {
    if (y >= this.top) return null;
    const { scale } = this;
    const marks = this.run.marks.filter((mark) => Math.abs(xOf(scale, mark.at_s) - x) <= near);
    return marks.length > 0 ? marks : null;
  }

  /** The operation so many places after another in its row. */
  neighbour(op: number, by: number): number | null {
    const track = classOf(this.run, op).track;
    if (track === null) return null;
    const ops = opsOf(this.run, track);
    return ops[ops.indexOf(op) + by] ?? null;
  }

  /** The operation in the next row, upwards or downwards, that is about as late as this one. */
  beside(op: number, by: number): number | null {
    const row = this.rowOfOp(op);
    if (!row) return null;
    for (let i = this.rows.indexOf(row) + by; i >= 0 && i < this.rows.length; i += by) {
      const ops = opsOf(this.run, this.rows[i].track);
      if (ops.length > 0) return ops[Math.min(firstAfter(this.run, ops, this.run.start[op]), ops.length - 1)];
    }
    return null;
  }

  /** The first operation that can be seen. */
  first(): number | null {
    for (const row of this.rows) {
      const ops = opsOf(this.run, row.track);
      const at = firstAfter(this.run, ops, this.window.from);
      if (at < ops.length) return ops[at];
    }
    return null;
  }

  redraw(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  /** Draws at once. */
  draw(): void {
    const canvas = this.canvas.getContext("2d");
    if (!canvas) return;
    const { scale, colours } = this;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    canvas.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    canvas.clearRect(0, 0, width, height);
    canvas.font = "12px system-ui, sans-serif";
    canvas.textBaseline = "middle";
    drawAxis(canvas, colours, scale, height, axisHeight);
    canvas.save();
    canvas.beginPath();
    canvas.rect(0, this.top, width, height - this.top);
    canvas.clip();
    this.drawRows(canvas, scale, height);
    if (this.showsPath) this.drawPath(canvas, scale, height);
    this.drawSelection(canvas, scale);
    canvas.restore();
    drawMarks(canvas, colours, scale, this.run.marks, axisHeight, height);
  }

  private visibleRows(height: number): Row[] {
    const top = this.box.scrollTop;
    return this.rows.filter((row) => row.top + row.height >= top && row.top <= top + height);
  }

  private yOf = (row: Row): number => this.top + row.top - this.box.scrollTop;

  private drawRows(canvas: CanvasRenderingContext2D, scale: Scale, height: number): void {
    for (const row of this.visibleRows(height)) {
      const y = this.yOf(row);
      canvas.fillStyle = this.colours.row;
      canvas.fillRect(scale.left, y, scale.right - scale.left, row.height);
      canvas.textAlign = "right";
      canvas.fillStyle = row.isFirstOfPlace ? this.colours.text : this.colours.faint;
      if (row.isFirstOfPlace || row.height >= 10) {
        canvas.fillText(fitted(canvas, row, scale.left - 10), scale.left - 8, y + row.height / 2);
      }
      canvas.textAlign = "center";
      canvas.globalAlpha = this.showsPath ? dimmed : 1;
      this.drawing.drawRow(canvas, this.colours, scale, row, y);
      canvas.globalAlpha = 1;
    }
  }

  /** Draws the operations of the critical path again, and lines from each to the next. */
  private drawPath(canvas: CanvasRenderingContext2D, scale: Scale, height: number): void {
    canvas.textAlign = "center";
    for (const row of this.visibleRows(height)) {
      for (const track of [row.track, ...row.alike]) {
        this.drawing.drawRow(canvas, this.colours, scale, { ...row, track }, this.yOf(row), (op) => this.onPath[op] === 1);
      }
    }
    canvas.strokeStyle = this.colours.accent;
    canvas.beginPath();
    let earlier: number | null = null;
    for (const op of this.run.criticalPath) {
      if (this.rowOfOp(op) === undefined) continue;
      if (earlier !== null && this.run.start[op] <= this.window.to && this.run.end[earlier] >= this.window.from) {
        this.trace(canvas, scale, earlier, op);
      }
      earlier = op;
    }
    canvas.stroke();
  }

  /** Outlines the chosen operation, those that it waited for and those that waited for it. */
  private drawSelection(canvas: CanvasRenderingContext2D, scale: Scale): void {
    const op = this.chosen;
    if (op === null) return;
    const waits = (rows: "waitsFor" | "waitedForBy", colour: string) => {
      canvas.strokeStyle = colour;
      canvas.lineWidth = 1.5;
      for (const other of rowOf(this.run[rows], op).slice(0, mostArrows)) {
        this.outline(canvas, scale, other);
        canvas.beginPath();
        if (rows === "waitsFor") this.trace(canvas, scale, other, op);
        else this.trace(canvas, scale, op, other);
        canvas.stroke();
      }
    };
    waits("waitsFor", this.colours.waited);
    waits("waitedForBy", this.colours.waiting);
    this.drawAlone(canvas, scale, op);
    canvas.strokeStyle = this.colours.text;
    canvas.lineWidth = 2.5;
    this.outline(canvas, scale, op);
    canvas.lineWidth = 1;
  }

  /** Draws the operation of a device that has no row of its own over those of the device that stands for it. */
  private drawAlone(canvas: CanvasRenderingContext2D, scale: Scale, op: number): void {
    const row = this.rowOfOp(op);
    const { track } = classOf(this.run, op);
    if (!row || track === null || track === row.track) return;
    canvas.textAlign = "center";
    this.drawing.drawRow(canvas, this.colours, scale, { ...row, track }, this.yOf(row), (other) => other === op);
  }

  private outline(canvas: CanvasRenderingContext2D, scale: Scale, op: number): void {
    const row = this.rowOfOp(op);
    if (!row) return;
    const left = Math.max(xOf(scale, this.run.start[op]), scale.left);
    const right = Math.min(xOf(scale, this.run.end[op]), scale.right);
    if (right >= left) canvas.strokeRect(left, this.yOf(row), Math.max(right - left, 2), row.height);
  }

  /** A line from the end of one operation to the start of another. */
  private trace(canvas: CanvasRenderingContext2D, scale: Scale, from: number, to: number): void {
    const [first, second] = [this.rowOfOp(from), this.rowOfOp(to)];
    if (!first || !second) return;
    const clamped = (date: number) => Math.min(Math.max(xOf(scale, date), scale.left), scale.right);
    canvas.moveTo(clamped(this.run.end[from]), this.yOf(first) + first.height / 2);
    canvas.lineTo(clamped(this.run.start[to]), this.yOf(second) + second.height / 2);
  }

  /** Makes rows visible until an operation has one. */
  private uncover(op: number): void {
    if (classOf(this.run, op).track === null) return;
    if (!this.showsTransfers && this.rowOfOp(op) === undefined) this.toggleTransfers();
    if (this.folds && this.rowOfOp(op) === undefined) this.toggleFolds();
  }

  private rowOfOp(op: number): Row | undefined {
    return this.rowOfTrack.get(classOf(this.run, op).track ?? -1);
  }

  private scrollTo(op: number): void {
    const row = this.rowOfOp(op);
    const height = this.box.clientHeight - this.top;
    if (!row) return;
    if (row.top < this.box.scrollTop || row.top + row.height > this.box.scrollTop + height) {
      this.box.scrollTop = row.top - height / 2;
    }
  }

  private layOut(): void {
    const { rows, height } = rowsOf(this.run, this.showsTransfers, this.folds ? this.standIns : null);
    this.rows = rows;
    this.rowsHeight = height;
    this.rowOfTrack = new Map(rows.flatMap((row) => [row.track, ...row.alike].map((track) => [track, row])));
  }

  private resize(): void {
    const whole = this.rowsHeight + this.top + 4;
    const height = Math.min(whole, mostHeight);
    this.box.style.height = `${height}px`;
    this.canvas.style.height = `${height}px`;
    this.spacer.style.height = `${whole - height}px`;
    this.canvas.width = Math.round(this.canvas.clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.draw();
  }
}

/** The label of a row, of which only the beginning is left if it is wider than so many pixels. */
function fitted(canvas: CanvasRenderingContext2D, { label, more }: Row, width: number): string {
  if (canvas.measureText(label + more).width <= width) return label + more;
  let length = Math.min(label.length, Math.ceil(width / 3));
  while (length > 1 && canvas.measureText(`${label.slice(0, length)}…${more}`).width > width) --length;
  return `${label.slice(0, length)}…${more}`;
}
