// What the mouse, fingers and keys do on the timeline.
import { rowOf } from "./data";
import { dateAt } from "./drawing";
import type { Mark } from "./data";
import type { Hit, Timeline } from "./timeline";

const click = 4; // pixels that a click may move
const step = 0.15; // of what is shown
const closer = 0.7;

/** Zooms with Ctrl and the wheel, pans by dragging, chooses by clicking; tells what lies under the pointer. */
export function followPointer(timeline: Timeline, hover: (under: Hit | Mark[] | null, event: MouseEvent) => void): void {
  const { canvas, window } = timeline;
  let held: { x: number; y: number; from: number; top: number; moved: boolean } | null = null;

  canvas.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) {
        event.preventDefault();
        const factor = Math.exp(Math.max(-50, Math.min(50, event.deltaY)) * 0.01);
        window.zoom(factor, dateAt(timeline.scale, event.offsetX));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        window.pan((event.deltaX || event.deltaY) / canvas.clientWidth);
      }
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    held = { x: event.offsetX, y: event.offsetY, from: window.from, top: timeline.box.scrollTop, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) {
      const { offsetX: x, offsetY: y } = event;
      hover(timeline.marksAt(x, y) ?? timeline.hit(x, y), event);
      return;
    }
    held.moved ||= Math.hypot(event.offsetX - held.x, event.offsetY - held.y) > click;
    if (!held.moved) return;
    hover(null, event);
    const from = held.from - (event.offsetX - held.x) / timeline.scale.perSecond;
    window.pan((from - window.from) / window.span);
    timeline.box.scrollTop = held.top - (event.offsetY - held.y);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held && !held.moved) {
      const hit = timeline.hit(event.offsetX, event.offsetY);
      timeline.select(hit?.op ?? hit?.next ?? null);
    }
    held = null;
  });
  canvas.addEventListener("pointercancel", () => (held = null));
  canvas.addEventListener("pointerleave", (event) => hover(null, event));
  canvas.addEventListener("dblclick", (event) => window.zoom(closer ** 3, dateAt(timeline.scale, event.offsetX)));
}

/** The operation that ended last of those that another waited for. */
export function lastWait(timeline: Timeline, op: number): number | null {
  const { run } = timeline;
  let last: number | null = null;
  for (const other of rowOf(run.waitsFor, op)) {
    if (last === null || run.end[other] >= run.end[last]) last = other;
  }
  return last;
}

/** The operation that started first of those that waited for another. */
export function firstWaiting(timeline: Timeline, op: number): number | null {
  return rowOf(timeline.run.waitedForBy, op)[0] ?? null;
}

/** `toggles` are what the buttons of the same names do, if there are such. With `page`, keys pressed while nothing has the focus count too. */
export function followKeys(
  timeline: Timeline,
  toggles: { path: () => void; transfers: () => void; alike: (() => void) | null },
  page?: HTMLElement,
): void {
  const { window } = timeline;
  const from = (next: (op: number) => number | null) => () => {
    const op = timeline.selected === null ? timeline.first() : next(timeline.selected);
    if (op !== null) timeline.select(op);
  };
  const chosenOr = (next: (op: number) => number | null, otherwise: () => void) => () =>
    timeline.selected === null ? otherwise() : from(next)();
  const actions: { [key: string]: () => void } = {
    "+": () => window.zoom(closer),
    "=": () => window.zoom(closer),
    "-": () => window.zoom(1 / closer),
    "0": () => window.fit(),
    c: toggles.path,
    t: toggles.transfers,
    ...(toggles.alike ? { a: toggles.alike } : {}),
    ArrowLeft: chosenOr((op) => timeline.neighbour(op, -1), () => window.pan(-step)),
    ArrowRight: chosenOr((op) => timeline.neighbour(op, 1), () => window.pan(step)),
    ArrowUp: chosenOr((op) => timeline.beside(op, -1), () => timeline.box.scrollBy(0, -40)),
    ArrowDown: chosenOr((op) => timeline.beside(op, 1), () => timeline.box.scrollBy(0, 40)),
    Enter: from((op) => op),
    "[": from((op) => lastWait(timeline, op)),
    "]": from((op) => firstWaiting(timeline, op)),
    Escape: () => timeline.select(null),
  };
  const follow = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  };
  timeline.canvas.addEventListener("keydown", follow);
  page?.addEventListener("keydown", (event) => {
    if (event.target === page && !event.key.startsWith("Arrow")) follow(event);
  });
}
