// The table of all lines, which can be sorted and filtered.
import { element } from "../shared/dom";
import type { Entry, Study, Value } from "./data";
import { shortKey, textOf } from "./data";
import { figuresOf, outcomeOf } from "./figures";

const mostRows = 200;

interface Column {
  heading: string;
  isNumber: boolean;
  value: (entry: Entry) => Value | undefined;
  text: (value: Value | undefined) => string;
}

function columnsOf(study: Study): Column[] {
  const word = (heading: string, value: (entry: Entry) => Value | undefined): Column => ({
    heading, isNumber: false, value, text: textOf,
  });
  return [
    ...study.keys.map((key) => word(shortKey(key, study.keys), ({ keys }) => keys[key])),
    word("planner", ({ planner }) => planner),
    word("schedule", ({ line }) => line.resolved_schedule),
    word("replicas", ({ line }) => line.configuration),
    ...figuresOf(study).map(({ heading, value, text }) => ({
      heading,
      isNumber: true,
      value: ({ line }: Entry) => value(line),
      text: (found: Value | undefined) => (typeof found === "number" ? text(found) : textOf(found)),
    })),
    word("outcome", ({ line }) => outcomeOf(line)),
  ];
}

/** Numbers by size, words by their letters and the numbers in them; what is missing comes last. */
function compared(a: Value | undefined, b: Value | undefined): number {
  const missing = (value: Value | undefined) => value === null || value === undefined;
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  if (typeof a === "number" && typeof b === "number") return a - b;
  return textOf(a).localeCompare(textOf(b), "en", { numeric: true });
}

/** The entries whose texts have every word of the filter, in the order of a column. */
export function chosen(entries: Entry[], columns: Column[], filter: string, by: number | null, down: boolean): Entry[] {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const has = (entry: Entry) => {
    const texts = columns.map(({ value, text }) => text(value(entry)).toLowerCase());
    return words.every((word) => texts.some((text) => text.includes(word)));
  };
  const found = entries.filter(has);
  if (by === null) return found;
  const { value } = columns[by];
  return found.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    const isMissing = x === null || x === undefined || y === null || y === undefined;
    return isMissing || !down ? compared(x, y) : compared(y, x);
  });
}

export function linesTable(study: Study): HTMLElement {
  const columns = columnsOf(study);
  let by: number | null = null;
  let down = false;
  const filter = element("input", { type: "search", placeholder: "words that a line has", "aria-label": "filter" });
  const count = element("output", {});
  const body = element("tbody");
  const headings = columns.map(({ heading, isNumber }, i) => {
    const sort = element("button", { type: "button", class: "sort", title: "sort" }, heading);
    sort.addEventListener("click", () => {
      down = by === i ? !down : isNumber;
      by = i;
      show();
    });
    return element("th", isNumber ? { class: "number" } : {}, sort);
  });
  const show = () => {
    const found = chosen(study.entries, columns, filter.value, by, down);
    headings.forEach((heading, i) =>
      heading.setAttribute("aria-sort", by !== i ? "none" : down ? "descending" : "ascending"),
    );
    body.replaceChildren(
      ...found.slice(0, mostRows).map((entry) =>
        element(
          "tr",
          { class: entry.line.best ? "strong" : entry.line.throughput_samples_per_s === null ? "weak" : "" },
          ...columns.map(({ value, text, isNumber }) =>
            element("td", isNumber ? { class: "number" } : {}, text(value(entry))),
          ),
        ),
      ),
    );
    const left = found.length > mostRows ? `, the first ${mostRows} shown` : "";
    count.textContent = `${found.length} of ${study.entries.length} lines${left}`;
  };
  filter.addEventListener("input", show);
  show();
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...headings)), body);
  return element(
    "div",
    {},
    element("div", { class: "toolbar" }, element("label", {}, "Filter ", filter), count),
    element("div", { class: "wide tall", tabindex: 0, role: "group", "aria-label": "lines of the study" }, table),
  );
}
