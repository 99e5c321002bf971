// A timeline with all that belongs to it: buttons, legend, what lies under the pointer, and what was chosen.
import { button, element } from "../shared/dom";
import * as format from "../shared/format";
import { showSelected, Tooltip } from "./details";
import { followKeys, followPointer } from "./gestures";
import { legend } from "./legend";
import type { Timeline } from "./timeline";

/** The parts of a page that show a timeline. Keys that nothing else on the page takes are its own, if it is the only one. */
export function timelineView(timeline: Timeline, only?: HTMLElement): HTMLElement[] {
  const { window, run } = timeline;
  const shown = element("output", {});
  const tell = () => (shown.textContent = `${format.date(window.from, window.span / 100)} to ${format.date(window.to, window.span / 100)}`);
  window.onChange(tell);
  tell();
  const toggle = (label: string, key: string, isOn: () => boolean, change: () => void) => {
    const press = () => made.setAttribute("aria-pressed", String(isOn()));
    const made = button(label, key, () => {
      change();
      press();
    });
    press();
    timeline.onSelect(press); // what was chosen may have been hidden
    return made;
  };
  const path = toggle("Critical path", "c", () => timeline.showsPath, () => timeline.togglePath());
  const transfers = toggle("Transfers", "t", () => timeline.showsTransfers, () => timeline.toggleTransfers());
  const alike = toggle("Alike", "a: places that compute alike share the rows of the first one", () => timeline.folds, () => timeline.toggleFolds());
  const tooltip = new Tooltip();
  const selected = element("div", { class: "selected" });
  showSelected(timeline, selected);
  followPointer(timeline, (hit, event) => tooltip.show(timeline, hit, event));
  followKeys(timeline, { path: () => path.click(), transfers: () => transfers.click(), alike: timeline.canFold ? () => alike.click() : null }, only);
  timeline.onSelect(() => tooltip.hide());
  window.onChange(() => tooltip.hide());
  const bar = element(
    "div",
    { class: "toolbar" },
    button("+", "closer: + or Ctrl and the wheel", () => window.zoom(0.5)),
    button("−", "farther: - or Ctrl and the wheel", () => window.zoom(2)),
    button("Whole run", "0", () => window.fit()),
    path,
    transfers,
    ...(timeline.canFold ? [alike] : []),
    shown,
  );
  return [bar, legend(run), timeline.box, selected, tooltip.box];
}

const folded =
  " Places that compute alike share the rows of the first one, as +7 for seven more, with its microbatches and its transfers; " +
  "a shows each by itself.";

export const help = (canFold: boolean): HTMLElement =>
  element(
    "p",
    { class: "help" },
    "Drag to move, Ctrl and the wheel to zoom, click an operation for what it waited for. Keys: arrows, + and −, " +
      "0 for the whole run, c for the critical path, t for transfers, Enter to choose, [ and ] along the waits, Escape." +
      (canFold ? folded : ""),
  );
