// Draws the operations of a run in rows. Operations that are narrower than a pixel and a half are summed up: in each
// column of pixels a bar shows how much of that time was busy, in the colour of the kind that took most of it.
import { classOf, type Columns } from "./data";
import { valueOf } from "../shared/colours";
import { colourOf, kindNames, letterOf } from "./kinds";
import { firstAfter, opsOf, type Row } from "./rows";

const least = 1.5; // pixels of an operation that is drawn by itself
const labelled = 16; // pixels of an operation that has a label

/** Where dates are on the canvas. */
export interface Scale {
  from: number;
  perSecond: number; // pixels
  left: number;
  right: number;
}

export const xOf = (scale: Scale, date: number): number => scale.left + (date - scale.from) * scale.perSecond;
export const dateAt = (scale: Scale, x: number): number => scale.from + (x - scale.left) / scale.perSecond;

/** The colours of the kinds, and of everything else, as they are now. */
export class Colours {
  private readonly ofKind = kindNames.map((op) => valueOf(colourOf(op)));
  readonly text = valueOf("--text");
  readonly label = valueOf("--label");
  readonly faint = valueOf("--faint");
  readonly line = valueOf("--line");
  readonly row = valueOf("--row");
  readonly back = valueOf("--back");
  readonly accent = valueOf("--accent");
  readonly waited = valueOf("--waited");
  readonly waiting = valueOf("--waiting");
  readonly mark = valueOf("--mark");
  at = (kind: number): string => this.ofKind[kind];
}

/** Sums up what is too narrow to be drawn. */
class Column {
  private x = -1;
  private readonly busy = new Float64Array(kindNames.length);

  constructor(
    private readonly canvas: CanvasRenderingContext2D,
    private readonly colours: Colours,
    private readonly row: Row,
    private readonly y: number,
  ) {}

  add(kind: number, from: number, to: number): void {
    let left = from;
    while (left < to || left === from) {
      const x = Math.floor(left);
      if (x !== this.x) this.begin(x);
      const right = Math.min(to, x + 1);
      this.busy[kind] += Math.max(right - left, 0);
      if (right <= left) break;
      left = right;
    }
  }

  begin(x: number): void {
    let sum = 0;
    let most = 0;
    for (let kind = 0; kind < this.busy.length; ++kind) {
      sum += this.busy[kind];
      if (this.busy[kind] > this.busy[most]) most = kind;
    }
    if (sum > 0) {
      const height = Math.max(1, Math.min(1, sum) * this.row.height);
      this.canvas.fillStyle = this.colours.at(most);
      this.canvas.fillRect(this.x, this.y + this.row.height - height, 1, height);
      this.busy.fill(0);
    }
    this.x = x;
  }
}

export class Drawing {
  private readonly kindOfClass: Int32Array;

  constructor(private readonly run: Columns) {
    this.kindOfClass = Int32Array.from(run.classes, (each) => kindNames.indexOf(each.op));
  }

  /** Draws those of the operations of a row that `wanted` lets through, with the top of the row at `y`. */
  drawRow(
    canvas: CanvasRenderingContext2D,
    colours: Colours,
    scale: Scale,
    row: Row,
    y: number,
    wanted: ((op: number) => boolean) | null = null,
  ): void {
    const { run } = this;
    const ops = opsOf(run, row.track);
    const until = dateAt(scale, scale.right);
    const column = new Column(canvas, colours, row, y);
    for (let i = firstAfter(run, ops, scale.from); i < ops.length; ++i) {
      const op = ops[i];
      if (run.start[op] >= until) break;
      if (wanted && !wanted(op)) continue;
      const left = Math.max(xOf(scale, run.start[op]), scale.left);
      const right = Math.min(xOf(scale, run.end[op]), scale.right);
      const kind = this.kindOfClass[run.classOf[op]];
      if (right - left < least) {
        column.add(kind, left, right);
      } else {
        this.drawOp(canvas, colours, op, kind, left, right, y, row.height);
      }
    }
    column.begin(-1);
  }

  private drawOp(
    canvas: CanvasRenderingContext2D,
    colours: Colours,
    op: number,
    kind: number,
    left: number,
    right: number,
    y: number,
    height: number,
  ): void {
    canvas.fillStyle = colours.at(kind);
    const width = right - left;
    canvas.fillRect(left, y, width > 3 ? width - 1 : width, height);
    if (this.run.aborted.has(op)) {
      canvas.strokeStyle = colours.accent;
      canvas.strokeRect(left + 1, y + 1, width - 2, height - 2);
    }
    if (width < labelled || height < 10) return;
    const full = `${letterOf(classOf(this.run, op).op)}${this.run.microbatch[op]}`;
    const label = width > 7 * full.length + 4 ? full : `${this.run.microbatch[op]}`;
    if (width <= 7 * label.length + 2) return;
    canvas.fillStyle = colours.label;
    canvas.fillText(label, (left + right) / 2, y + height / 2 + 0.5);
  }
}
