// Elements of the page. Texts are set as texts, never as markup.

type Child = Node | string;
type Attributes = { [name: string]: string | number | boolean };

function filled<T extends Element>(node: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children);
  return node;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function button(label: string, help: string, action: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", title: help }, label);
  made.addEventListener("click", action);
  return made;
}

/** A section with a heading. */
export const section = (heading: string, ...children: Child[]): HTMLElement =>
  element("section", {}, element("h2", {}, heading), ...children);

/** A table; columns from `firstNumber` on are numbers. Wide ones scroll by themselves. */
export function table(header: string[], rows: Child[][], firstNumber: number): HTMLElement {
  const cell = (tag: "td" | "th", child: Child, column: number) =>
    element(tag, column >= firstNumber ? { class: "number" } : {}, child);
  return element(
    "div",
    { class: "wide", tabindex: 0, role: "group", "aria-label": "table" },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...header.map((text, i) => cell("th", text, i)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((child, i) => cell("td", child, i))))),
    ),
  );
}
