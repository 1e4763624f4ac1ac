import { parseHTML } from "linkedom/worker";
import { describe, expect, test } from "vitest";
import { curves, histogram } from "../../../sdk/notebook/plots.js";
import { table } from "../../../sdk/notebook/table.js";

const dom = (html: string): Document =>
  parseHTML(`<html><body>${html}</body></html>`).document as unknown as Document;
const texts = (html: string, selector: string): string[] =>
  [...dom(html).querySelectorAll(selector)].map((found) => found.textContent ?? "");

describe("a table", () => {
  test("shows the first row's fields, numbers to three places, and a dash for nothing", () => {
    const html = table([
      { name: "a", rate: 1 / 3, extra: null },
      { name: "b", rate: 2, extra: { x: [1] } },
    ]);
    expect(texts(html, "th")).toEqual(["name", "rate", "extra"]);
    expect(texts(html, "td")).toEqual(["a", "0.333", "–", "b", "2", '{"x":[1]}']);
  });

  test("takes the columns that are asked for, and says how many rows are left out", () => {
    const rows = Array.from({ length: 5 }, (_, place) => ({ a: place, b: -place }));
    const html = table(rows, { columns: ["b"], limit: 2 });
    expect(texts(html, "td")).toEqual(["0", "-1"]);
    expect(texts(html, "p")).toEqual(["and 3 more rows"]);
  });

  test("shows a model's markup as text, and cuts what is long", () => {
    const evil = `<script>alert(1)</script><img src=x onerror="alert(1)">`;
    const html = table([{ [`${evil}head`]: evil, long: "x".repeat(1000) }]);
    expect(texts(html, "script, img")).toEqual([]);
    expect(texts(html, "td")[0]).toBe(evil);
    expect(texts(html, "td")[1]).toBe(`${"x".repeat(300)}…`);
  });

  test("of nothing says so", () => {
    expect(table([])).toBe("<p>no rows</p>");
  });
});

/** The heights of the bars, as shares of the highest. */
function heights(html: string): number[] {
  const bars = [...dom(html).querySelectorAll('g[aria-label="rect"] rect')];
  const found = bars.map((bar) => Math.max(0, Number(bar.getAttribute("height"))));
  const most = Math.max(...found);
  return found.map((height) => Math.round((height / most) * 100) / 100);
}

describe("a histogram", () => {
  test("counts values by tenths, the highest in the last", () => {
    const html = histogram([0, 0.05, 0.1, 1, 1, 1, 1]);
    expect(heights(html)).toEqual([0.5, 0.25, 0, 0, 0, 0, 0, 0, 0, 1]);
  });

  test("says how many have no value", () => {
    expect(histogram([1, null, null])).toContain("2 without a value");
    expect(histogram([1])).not.toContain("without");
  });

  test("spans what the values span", () => {
    expect(heights(histogram([-2, 0, 0, 2], { bins: 2 }))).toEqual([0.33, 1]);
    expect(heights(histogram([5, 10], { bins: 2, domain: [0, 10] }))).toEqual([0, 1]);
  });

  test("of nothing, and of one value, is drawn", () => {
    for (const values of [[], [3]])
      expect(dom(histogram(values)).querySelector("svg")).toBeTruthy();
  });

  test("keeps a title with markup in it as text", () => {
    const html = histogram([1], { title: `<b>"x"</b>` });
    expect(texts(html, "b")).toEqual([]);
    expect(dom(html).querySelector("svg")?.getAttribute("aria-label")).toBe(`<b>"x"</b>`);
  });
});

describe("curves", () => {
  test("has a line and a legend for each series, and leaves out what is no number", () => {
    const html = curves({ agent: [0, null, 1], environment: [{ x: 1, y: 2 }] });
    expect(dom(html).querySelectorAll('g[aria-label="line"] path')).toHaveLength(2);
    expect(dom(html).querySelectorAll('g[aria-label="dot"] circle')).toHaveLength(3);
    expect(texts(html, "div")[1]).toMatch(/● agent.*● environment/);
  });

  test("of one series has no legend; of nothing says so", () => {
    expect(curves({ agent: [1, 2] })).not.toContain("●");
    expect(curves({ agent: [] })).toContain("nothing yet");
  });
});
