// The page of a run: puts its parts together.
import { linkChart, memoryChart, throughputChart } from "./charts";
import { readRun, type Run } from "./data";
import { element, section } from "../shared/dom";
import * as format from "../shared/format";
import { pathText } from "./path";
import { planPicture } from "./picture";
import { platformPicture } from "./platform";
import { cards, claims, devices, links, replans, warnings } from "./tables";
import { Timeline } from "./timeline";
import { help, timelineView } from "./view";
import { TimeWindow } from "./window";

const pathParts = 6;

/** How stages of plans that came later are numbered. */
const later =
  "This is the plan that the run began with. Stages of later plans are numbered from 0, too.";

/** That the page has only a part of the run, if so. */
function part({ window }: Run): HTMLElement[] {
  if (!window) return [];
  const range = `${format.seconds(window.from_s)} to ${format.seconds(window.to_s)}`;
  const text = `This page has the operations of ${range}. Its critical path is that of this part; all other figures are those of the whole run.`;
  return [element("p", { class: "help" }, text)];
}

/** The picture of the platform with its caption. */
function platform(run: Run): HTMLElement[] {
  const picture = platformPicture(run);
  if (!picture) return [];
  const caption =
    "Below: the places of the platform with their devices, numbered by stage. Lines and bars have the colour of the busiest link " +
    "that transfers cross between two places, and inside one.";
  return [element("p", { class: "help" }, caption), element("div", { class: "wide picture" }, picture)];
}

function show(run: Run, page: HTMLElement): Timeline | null {
  const { report } = run;
  const way = report.engine === "evaluate" ? "evaluated without contention" : "replayed";
  const iterations = (report.iterations_s as number[] | undefined)?.length ?? 0;
  const work = `${iterations > 1 ? `${iterations} iterations of ` : ""}${run.microbatches}`;
  document.title = `${run.model} on ${run.platform} · Stagecraft run`;
  const { picture, note } = planPicture(run);
  const changes = replans(run);
  page.append(
    element("h1", {}, `${run.model} on ${run.platform}`),
    element("p", {}, `Plan of ${run.planner || "unknown origin"}, schedule ${report.schedule}, ${work}, ${way}.`),
    cards(run),
    ...warnings(run),
    element("p", { class: "bottleneck" }, run.bottleneck.split("\n")[0]),
    element("p", {}, pathText(run, pathParts)),
    ...part(run),
  );
  const timeline = run.start.length > 0 ? new Timeline(run, new TimeWindow(run.window?.from_s ?? run.begin, Math.min(run.window?.to_s ?? run.until, run.until))) : null;
  if (timeline) {
    page.append(section("Timeline", ...timelineView(timeline, document.body), help(timeline.canFold)));
    const throughput = throughputChart(run, timeline.window);
    if (throughput) page.append(section("Throughput", throughput));
    if (run.memory.length > 0) page.append(section("Memory", memoryChart(run, timeline.window)));
    const load = linkChart(run, timeline.window);
    const ofWhat = "Of the bandwidth that the platform file gives, also where an event changes it.";
    if (load) page.append(section("Load of links", load, element("p", { class: "help" }, ofWhat)));
  }
  page.append(
    section(changes ? "Plan at the start" : "Plan", element("div", { class: "wide picture" }, picture), element("p", { class: "help" }, changes ? `${note} ${later}` : note), ...platform(run)),
    section("Claimed, evaluated, replayed", claims(run)),
    section("Devices", devices(run)),
  );
  const carried = links(run);
  if (carried) page.append(element("details", {}, element("summary", {}, "Links"), carried));
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
