type Attributes = Record<string, string | number | boolean | null | ((event: Event) => void)>;
type Child = Node | string | null;

/**
 * An element. Children that are texts become text nodes, and there is no other way for a text to get into the page:
 * what a model wrote is never parsed as HTML.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A number for people: 0.333, 12, 1.2e-8; a dash for none. */
export function show(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) < 0.001 ? value.toExponential(1) : value.toPrecision(3);
}

/** A table of texts, its first column a header of each row. */
export function plainTable(caption: string, heads: string[], rows: string[][]): HTMLElement {
  const head = h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)));
  const body = rows.map(([first = "", ...rest]) =>
    h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((text) => h("td", {}, text))),
  );
  const table = h(
    "table",
    {},
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, head),
    h("tbody", {}, ...body),
  );
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
}

let fields = 0;

/** A control with its label above. */
export function field(label: string, control: HTMLElement, grow = false): HTMLElement {
  fields += 1;
  control.id = `field-${fields}`;
  const name = h("label", { for: control.id }, label);
  return h("div", { class: grow ? "field grow" : "field" }, name, control);
}
