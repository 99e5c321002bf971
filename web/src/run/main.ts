// The page of a run: puts its parts together.
import { linkChart, memoryChart, throughputChart } from "./charts";
import { readRun, type Run } from "./data";
import { showSelected, Tooltip } from "./details";
import { button, element, section } from "../shared/dom";
import * as format from "../shared/format";
import { followKeys, followPointer } from "./gestures";
import { legend } from "./legend";
import { pathText } from "./path";
import { planPicture } from "./picture";
import { cards, claims, devices, links, replans } from "./tables";
import { Timeline } from "./timeline";
import { TimeWindow } from "./window";

const pathParts = 6;

function timelineSection(run: Run, timeline: Timeline): HTMLElement {
  const { window } = timeline;
  const shown = element("output", {});
  const tell = () => (shown.textContent = `${format.seconds(window.from)} to ${format.seconds(window.to)}`);
  window.onChange(tell);
  tell();
  const pathButton = button("Critical path", "c", () => {
    timeline.togglePath();
    pathButton.setAttribute("aria-pressed", String(timeline.showsPath));
  });
  const transfers = button("Transfers", "t", () => {
    timeline.toggleTransfers();
    transfers.setAttribute("aria-pressed", String(timeline.showsTransfers));
  });
  pathButton.setAttribute("aria-pressed", "false");
  transfers.setAttribute("aria-pressed", "true");
  const tooltip = new Tooltip();
  const selected = element("div", { class: "selected" });
  showSelected(timeline, selected);
  followPointer(timeline, (hit, event) => tooltip.show(timeline, hit, event));
  followKeys(timeline, { path: () => pathButton.click(), transfers: () => transfers.click() });
  const bar = element(
    "div",
    { class: "toolbar" },
    button("+", "closer: + or Ctrl and the wheel", () => window.zoom(0.5)),
    button("−", "farther: - or Ctrl and the wheel", () => window.zoom(2)),
    button("Whole run", "0", () => window.fit()),
    pathButton,
    transfers,
    shown,
  );
  const help =
    "Drag to move, Ctrl and the wheel to zoom, click an operation for what it waited for. Keys: arrows, + and −, " +
    "0 for the whole run, c for the critical path, t for transfers, Enter to choose, [ and ] along the waits, Escape.";
  return section(
    "Timeline", bar, legend(run), timeline.box, element("p", { class: "help" }, help), selected, tooltip.box,
  );
}

function show(run: Run, page: HTMLElement): Timeline | null {
  const { report } = run;
  const way = report.engine === "evaluate" ? "evaluated without contention" : "replayed";
  const work = `${format.counted(run.microbatches, "microbatch")} of ${format.counted(run.microbatch_size, "sample")}`;
  document.title = `${run.model} on ${run.platform} · Stagecraft run`;
  const { picture, note } = planPicture(run);
  page.append(
    element("h1", {}, `${run.model} on ${run.platform}`),
    element("p", {}, `Plan of ${run.planner || "unknown origin"}, schedule ${report.schedule}, ${work}, ${way}.`),
    cards(run),
    element("p", { class: "bottleneck" }, run.bottleneck.split("\n")[0]),
    element("p", {}, pathText(run, pathParts)),
  );
  const timeline = run.start.length > 0 ? new Timeline(run, new TimeWindow(run.begin, run.until)) : null;
  if (timeline) {
    page.append(timelineSection(run, timeline));
    const throughput = throughputChart(run, timeline.window);
    if (throughput) page.append(section("Throughput", throughput));
    if (run.memory.length > 0) page.append(section("Memory", memoryChart(run, timeline.window)));
    const load = linkChart(run, timeline.window);
    if (load) page.append(section("Load of links", load));
  }
  page.append(
    section("Plan", element("div", { class: "wide picture" }, picture), element("p", { class: "help" }, note)),
    section("Claimed, evaluated, replayed", claims(run)),
    section("Devices", devices(run)),
  );
  const carried = links(run);
  if (carried) page.append(element("details", {}, element("summary", {}, "Links"), carried));
  const changes = replans(run);
  if (changes) page.append(section("Changes of the plan", changes));
  page.append(
    element("details", {}, element("summary", {}, "As the terminal shows it"), element("pre", { class: "wide" }, run.text)),
  );
  return timeline;
}

const run = readRun(document.getElementById("data")?.textContent ?? "");
const timeline = show(run, document.getElementById("page") as HTMLElement);
// For tests and for those who look closer with a browser's console.
Object.assign(window, { stagecraft: { run, timeline } });
