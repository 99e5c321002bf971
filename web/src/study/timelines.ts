// The runs of two cells on one time axis.
import { readColumns, type WrittenColumns } from "../run/data";
import { Timeline } from "../run/timeline";
import { help, timelineView } from "../run/view";
import { TimeWindow } from "../run/window";
import { element } from "../shared/dom";
import * as format from "../shared/format";
import { keysText, type Values } from "./data";

export interface CellTimeline extends WrittenColumns {
  cell: number;
  keys: Values; // in which the cells differ
  model: string;
  planner: string;
}

export function timelines(cells: CellTimeline[]): { box: HTMLElement; all: Timeline[] } | null {
  if (cells.length === 0) return null;
  const runs = cells.map((cell) => ({ ...cell, ...readColumns(cell) })).filter(({ start }) => start.length > 0);
  const window = new TimeWindow(0, Math.max(...runs.map(({ until }) => until)));
  const all = runs.map((run) => new Timeline(run, window));
  const parts = runs.flatMap((run, i) => {
    const what = keysText(run.keys) || `${run.model}, ${run.planner}`;
    const heading = `Cell ${run.cell}: ${what}, ends at ${format.seconds(run.until)}`;
    return [element("h3", { class: "cell" }, heading), ...timelineView(all[i])];
  });
  return { box: element("div", {}, ...parts, help(all.some(({ canFold }) => canFold))), all };
}
