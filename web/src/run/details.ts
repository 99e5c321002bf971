// Everything about an operation: beside the pointer, and below the timeline for the one that is chosen.
import { classOf, rowOf, type Columns, type Mark } from "./data";
import { element } from "../shared/dom";
import * as format from "../shared/format";
import { lastWait } from "./gestures";
import { letterOf, wordsOf } from "./kinds";
import type { Row } from "./rows";
import type { Hit, Timeline } from "./timeline";

const mostListed = 12;

const placeName = (run: Columns, place: number | null): string => (place === null ? "" : run.places[place].name);

/** `forward 3, stage 1, gpu1`. */
export function titleOf(run: Columns, op: number): string {
  const { op: kind, stage, from, to } = classOf(run, op);
  const words = letterOf(kind) ? `${wordsOf(kind)} ${run.microbatch[op]}` : wordsOf(kind);
  const place = to !== null && to !== from ? `${placeName(run, from)} → ${placeName(run, to)}` : placeName(run, from);
  return [words, stage === null ? "" : `stage ${stage}`, place].filter((part) => part !== "").join(", ");
}

/** Names and values of what is known about an operation. */
export function factsOf(run: Columns, op: number): [string, string][] {
  const { bytes, links } = classOf(run, op);
  const took = run.end[op] - run.start[op];
  const facts: [string, string][] = [
    ["from", format.seconds(run.start[op])],
    ["to", format.seconds(run.end[op])],
    ["takes", format.seconds(took)],
    ["microbatch", String(run.microbatch[op])],
  ];
  if (bytes > 0) facts.push(["carries", format.bytes(bytes)]);
  if (bytes > 0 && took > 0) facts.push(["at", `${format.bytes(bytes / took)}/s`]);
  if (links.length > 0) facts.push(["over", links.map((link) => run.links[link].name).join(", ")]);
  if (run.aborted.has(op)) facts.push(["ended by", "a failure; it runs again"]);
  return facts;
}

/** The places that the row of an operation stands for. */
function alikeFacts(run: Columns, tracks: number[]): [string, string][] {
  if (tracks.length === 0) return [];
  const [first, last] = [tracks[0], tracks[tracks.length - 1]].map((track) => placeName(run, run.tracks[track].place));
  return [["alike", first === last ? first : `${first} to ${last}`]];
}

/** The last wait that takes time: marks hand on what they waited for. */
function causeOf(timeline: Timeline, op: number): number | null {
  let cause = lastWait(timeline, op);
  while (cause !== null && letterOf(classOf(timeline.run, cause).op) === "") cause = lastWait(timeline, cause);
  return cause;
}

/** A box beside the pointer. */
export class Tooltip {
  readonly box = element("div", { class: "tooltip", hidden: true });

  show(timeline: Timeline, under: Hit | Mark[] | null, event: MouseEvent): void {
    this.box.hidden = under === null;
    if (!under) return;
    this.box.replaceChildren(...(Array.isArray(under) ? this.ofMarks(under) : this.ofHit(timeline, under)));
    const { innerWidth, innerHeight } = window;
    const { offsetWidth, offsetHeight } = this.box;
    this.box.style.left = `${Math.max(0, Math.min(event.clientX + 14, innerWidth - offsetWidth - 8))}px`;
    this.box.style.top = `${Math.max(0, Math.min(event.clientY + 14, innerHeight - offsetHeight - 8))}px`;
  }

  hide(): void {
    this.box.hidden = true;
  }

  private ofMarks(marks: Mark[]): Node[] {
    const facts = marks.slice(0, mostListed).map((mark): [string, string] => [format.seconds(mark.at_s), mark.name]);
    if (marks.length > mostListed) facts.push(["", `and ${marks.length - mostListed} more`]);
    return [factList(facts)];
  }

  private ofHit(timeline: Timeline, hit: Hit): Node[] {
    return hit.op !== null ? this.ofOp(timeline.run, hit.op, hit.row) : this.ofGap(timeline, hit);
  }

  private ofOp(run: Columns, op: number, { alike }: Row): Node[] {
    return [element("strong", {}, titleOf(run, op)), factList([...factsOf(run, op), ...alikeFacts(run, alike)])];
  }

  private ofGap(timeline: Timeline, hit: Hit): Node[] {
    const { run } = timeline;
    const title = element("strong", {}, run.tracks[hit.row.track].computes ? "idle" : "nothing under way");
    if (hit.next === null) return [title, element("p", {}, "nothing more to do")];
    const cause = causeOf(timeline, hit.next);
    const facts: [string, string][] = [["until", format.seconds(run.start[hit.next])], ["next", titleOf(run, hit.next)]];
    if (cause !== null) facts.push(["waits for", titleOf(run, cause)]);
    return [title, factList(facts)];
  }
}

const factList = (facts: [string, string][]): HTMLElement =>
  element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

/** The chosen operation, with buttons for those that it waited for and those that waited for it. */
export function showSelected(timeline: Timeline, box: HTMLElement): void {
  const { run } = timeline;
  const link = (op: number) => {
    const button = element("button", { type: "button", class: "link" }, titleOf(run, op));
    button.addEventListener("click", () => timeline.select(op));
    return element("li", {}, button, ` ${format.seconds(run.start[op])} to ${format.seconds(run.end[op])}`);
  };
  const list = (heading: string, style: string, ops: Uint32Array) => {
    const shown = Array.from(ops.slice(0, mostListed), link);
    if (ops.length > mostListed) shown.push(element("li", {}, `and ${ops.length - mostListed} more`));
    if (ops.length === 0) shown.push(element("li", {}, "nothing"));
    return element("div", {}, element("h3", { class: style }, heading), element("ul", {}, ...shown));
  };
  const show = (op: number | null) => {
    box.hidden = op === null;
    if (op === null) return;
    box.replaceChildren(
      element("div", {}, element("h3", {}, titleOf(run, op)), factList(factsOf(run, op))),
      list("waited for", "waited", rowOf(run.waitsFor, op)),
      list("waited for it", "waiting", rowOf(run.waitedForBy, op)),
    );
  };
  box.setAttribute("aria-live", "polite");
  timeline.onSelect(show);
  show(null);
}
