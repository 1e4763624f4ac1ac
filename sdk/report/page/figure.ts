import { type PlotOptions, plot } from "@observablehq/plot";
import { h, plainTable } from "./dom.js";
import { savePng, saveSvg } from "./export.js";

export interface Chart {
  title: string;
  /** What it shows and what to look for. */
  about: string;
  /** The chart at a width; the frame gives margins, fonts and colours that all charts share. */
  options(width: number): PlotOptions;
  /** The same numbers as a table. */
  table(): { heads: string[]; rows: string[][] };
  /** Taller than most, in pixels. */
  height?: number;
  /** What the colours stand for. */
  legend?: { label: string; color: string }[];
  /** Controls above the chart. */
  controls?: HTMLElement | null;
  wide?: boolean;
}

/** A chart in its frame: heading, legend, picture, saving, and its numbers as a table. */
export function toFigure(chart: Chart): HTMLElement {
  const picture = h("div", { class: "picture" });
  const draw = (): void => drawInto(picture, chart);
  new ResizeObserver(draw).observe(picture);
  const svg = (): SVGSVGElement | null => picture.querySelector("svg");
  const saver = (kind: string, work: (chart: SVGSVGElement) => void): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        "aria-label": `save ${chart.title} as ${kind}`,
        click: () => {
          const found = svg();
          if (found) work(found);
        },
      },
      kind,
    );
  return h(
    "figure",
    { class: chart.wide ? "wide" : "" },
    h(
      "figcaption",
      {},
      h("h3", {}, chart.title),
      h("p", {}, chart.about),
      chart.legend ? legendOf(chart.legend) : null,
      chart.controls ?? null,
    ),
    picture,
    h(
      "div",
      { class: "below" },
      numbers(chart),
      saver("PNG", (found) => void savePng(found, chart.title)),
      saver("SVG", (found) => saveSvg(found, chart.title)),
    ),
  );
}

function drawInto(picture: HTMLElement, chart: Chart): void {
  const width = Math.floor(picture.clientWidth);
  if (width === 0 || Number(picture.dataset.width) === width) return;
  picture.dataset.width = String(width);
  const drawn = plot({
    width,
    height: chart.height ?? 220,
    marginLeft: 44,
    marginRight: 14,
    marginBottom: 40,
    style: { fontSize: "12px" },
    ...chart.options(width),
  });
  // The picture has one name; labels on its parts are in nobody's way but ARIA's.
  for (const part of drawn.querySelectorAll("g[aria-label]")) part.removeAttribute("aria-label");
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `${chart.title}. ${chart.about}`);
  picture.replaceChildren(drawn);
}

/** Draws again what depends on something else than the width. */
export function redraw(figure: HTMLElement, chart: Chart): void {
  const picture = figure.querySelector<HTMLElement>(".picture");
  if (!picture) return;
  delete picture.dataset.width;
  drawInto(picture, chart);
}

function legendOf(entries: { label: string; color: string }[]): HTMLElement {
  return h(
    "ul",
    { class: "legend" },
    ...entries.map(({ label, color }) => {
      const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = color;
      return h("li", {}, swatch, label);
    }),
  );
}

function numbers(chart: Chart): HTMLElement {
  const details = h("details", {}, h("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => {
    details.querySelector(".scroll")?.remove();
    if (!details.open) return;
    const { heads, rows } = chart.table();
    details.append(plainTable(chart.title, heads, rows));
  });
  return details;
}
