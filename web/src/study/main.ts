// The page of a study: puts its parts together.
import type { Timeline } from "../run/timeline";
import { element, section } from "../shared/dom";
import { keysText, readStudy, type Study } from "./data";
import { linesTable } from "./lines";
import { axesChart, memoryChart } from "./scatter";
import { speedUps } from "./speed_ups";
import { timelines } from "./timelines";

const mostReasons = 20;

/** The sentences above the tables of the report's text: everything up to its first empty line. */
const head = (study: Study): string[] => study.text.split("\n\n")[0].split("\n").slice(1);

/** The counts and the notes; what explains the figures is folded. */
function sentences(study: Study): HTMLElement[] {
  const [counts, ...others] = head(study).map((sentence) => element("p", {}, sentence));
  const isNote = (each: HTMLElement) => each.textContent?.startsWith("Note:") === true;
  const more = others.filter((each) => !isNote(each));
  const notes = others.filter(isNote);
  return [counts, ...notes, ...(more.length > 0 ? [element("details", {}, element("summary", {}, "What the figures mean"), ...more)] : [])];
}

function reasons(study: Study): HTMLElement | null {
  const all = study.report.reasons;
  if (all.length === 0) return null;
  const items = all
    .slice(0, mostReasons)
    .map(({ status, message, cells }) => element("li", {}, `${cells} x ${status.replaceAll("_", " ")}: ${message}`));
  if (all.length > mostReasons) items.push(element("li", {}, `and ${all.length - mostReasons} more`));
  return element("ul", {}, ...items);
}

function show(study: Study, page: HTMLElement): Timeline[] {
  document.title = `Study ${study.report.study}`;
  const cells = timelines(study.timelines);
  const groups = study.report.groups.map(({ keys }) => keysText(keys) || "all cells");
  const parts: [string, HTMLElement | null][] = [
    ["Speed-ups", speedUps(study)],
    ["Lines", linesTable(study)],
    ["Figures over keys", axesChart(study)],
    ["Time against memory", memoryChart(study, groups)],
    ["Timelines on one axis", cells?.box ?? null],
    ["Why cells gave no figures", reasons(study)],
    ["As the terminal shows it", element("pre", { class: "wide tall", tabindex: 0 }, study.text)],
  ];
  const sections = parts.flatMap(([heading, part]) => (part ? [{ heading, part: section(heading, part) }] : []));
  const links = sections.map(({ heading, part }, i) => {
    part.id = `part${i}`;
    return element("a", { href: `#part${i}` }, heading);
  });
  page.append(
    element("h1", {}, `Study ${study.report.study}`),
    ...sentences(study),
    element("nav", { "aria-label": "contents" }, ...links),
    ...sections.map(({ part }) => part),
  );
  return cells?.all ?? [];
}

const study = readStudy(document.getElementById("data")?.textContent ?? "");
const shown = show(study, document.getElementById("page") as HTMLElement);
// For tests and for those who look closer with a browser's console.
Object.assign(window, { stagecraft: { study, timelines: shown } });
