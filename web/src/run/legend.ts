// The colours of the timeline, for the kinds of operation that the run has.
import type { Columns } from "./data";
import { element } from "../shared/dom";
import { colourOf, kindNames, letterOf, wordsOf } from "./kinds";

export function legend(run: Columns): HTMLElement {
  const seen = new Set(run.classes.map((each) => each.op));
  const box = element("p", { class: "legend" });
  for (const op of kindNames.filter((each) => seen.has(each))) {
    const key = element("span", { class: "key" });
    key.style.background = `var(${colourOf(op)})`;
    box.append(element("span", { class: "entry" }, key, `${letterOf(op)} ${wordsOf(op)}`), " ");
  }
  return box;
}
