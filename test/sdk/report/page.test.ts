import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeReport } from "../../../sdk/report/write.js";
import { writeBigRun } from "./big-run.js";
import { type Browser, chromiumPath, startBrowser } from "./browser.js";

if (chromiumPath === null) {
  console.warn("skipping the report in a browser: no Chromium (apt-get install chromium)");
}

const hostile = [
  '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">',
  "</script><script>window.pwned = 3</script><b>bold</b><!-- ]]> \u2028 \u2029 <style>*{display:none}",
].join("\n");

describe.skipIf(chromiumPath === null)("the report in Chromium", () => {
  let cwd: string;
  let browser: Browser;
  let big: string;
  let two: string;

  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), "genenv-report-"));
    const runs = join(cwd, "runs");
    const many = { epochs: 20, tasksPerEpoch: 500, responsesPerTask: 2 };
    await writeBigRun(join(runs, "big"), many);
    await writeBigRun(join(runs, "small"), {
      epochs: 3,
      tasksPerEpoch: 20,
      responsesPerTask: 8,
      text: hostile,
    });
    big = await writeReport(["big"], { cwd });
    two = await writeReport(["small", "big"], { cwd, out: join(cwd, "two.html") });
    browser = await startBrowser();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    rmSync(cwd, { recursive: true, force: true });
  });

  async function openTask(page: Page, text: string): Promise<string> {
    await page.getByLabel("Find").fill(text);
    // The table is drawn anew a moment after the last key: until then its first row is another one.
    await page.waitForFunction((wanted) => {
      const shown = [...document.querySelectorAll("td.task button")];
      return shown.length > 0 && shown.every((row) => row.textContent?.includes(wanted));
    }, text);
    const dialog = page.locator("dialog[open] h2");
    await expect
      .poll(async () => {
        if ((await dialog.count()) === 0) {
          await page.locator("td.task button").first().click({ timeout: 2_000 });
        }
        return dialog.count();
      })
      .toBe(1);
    return (await page.locator("dialog").textContent()) ?? "";
  }

  test("draws its charts without a word on the console and without a request", async () => {
    const { page, heard } = await browser.open(big);
    await page.waitForSelector("figure svg");
    const titles = await page.locator("figure h3").allTextContents();
    expect(titles).toEqual(
      expect.arrayContaining([
        "Agent: success rate",
        "Validation: success rate",
        "Environment: reward",
        "Success rates of tasks",
        "Size of new tasks",
        "Answers and tasks",
        "Responses without a score",
        "Time by phase",
      ]),
    );
    expect(await page.locator("figure svg[role=img]").count()).toBe(titles.length);
    expect(heard).toEqual([]);
    await page.close();
  });

  test("shows what looks like HTML in a response as text, and runs none of it", async () => {
    const { page, heard } = await browser.open(two);
    await page.getByLabel("Run", { exact: true }).selectOption("small");
    const text = await openTask(page, "What is");
    expect(text).toContain("<script>window.pwned = 1</script>");
    expect(text).toContain("</script><script>window.pwned = 3</script><b>bold</b>");
    expect(await page.evaluate(() => (window as { pwned?: number }).pwned)).toBeUndefined();
    expect(await page.locator("dialog b, dialog img, dialog script, body img").count()).toBe(0);
    expect(await page.locator("td.task button", { hasText: "<script>" }).count()).toBe(0);
    expect(heard).toEqual([]);
    await page.close();
  });

  test("shows a rejected answer's tags in the table as text", async () => {
    const { page } = await browser.open(big);
    await page.getByLabel("Outcome").selectOption("rejected");
    const first = page.locator("td.task button").first();
    expect(await first.textContent()).toBe("an answer <script>without</script> a sum");
    await page.close();
  });

  test("its policy stops a script that gets into the page all the same", async () => {
    const { page, heard } = await browser.open(big);
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.pwned = 4";
      document.body.append(script);
    });
    expect(await page.evaluate(() => (window as { pwned?: number }).pwned)).toBeUndefined();
    expect(heard.join()).toContain("Content Security Policy");
    await page.close();
  });

  test("finds, sorts and pages through 10,000 tasks in a moment", async () => {
    const { page } = await browser.open(big);
    const count = page.locator(".count");
    expect(await count.textContent()).toBe("10,000 of 10,000, showing 1 to 50");
    const ms = await page.evaluate(() => {
      const started = performance.now();
      const button = document.querySelectorAll<HTMLButtonElement>("th button");
      for (const place of [2, 3, 2]) button[place]?.click();
      document.querySelector<HTMLButtonElement>('[data-page="last page"]')?.click();
      document.querySelector<HTMLElement>(".tasks")?.getBoundingClientRect();
      return performance.now() - started;
    });
    expect(ms).toBeLessThan(2000);
    expect(await count.textContent()).toBe("10,000 of 10,000, showing 9,951 to 10,000");
    await page.getByLabel("Find").fill("nothing like this");
    await expect.poll(() => count.textContent()).toBe("0 of 10,000, showing none");
    await page.close();
  });

  test("a task opens by keyboard, shows its lineage and scores, and Escape closes it", async () => {
    const { page } = await browser.open(two);
    await page.getByLabel("Run", { exact: true }).selectOption("small");
    await page.getByLabel("Outcome").selectOption("kept");
    const opener = page.locator("td.task button").first();
    await opener.focus();
    await page.keyboard.press("Enter");
    const dialog = page.locator("dialog[open]");
    await dialog.waitFor();
    const text = (await dialog.textContent()) ?? "";
    expect(text).toMatch(/Answer e3-a\d+ of the environment model, epoch 3/);
    expect(text).toContain("seed-11: What is");
    expect(text).toContain("Here is one: What is");
    expect(text).toContain("score 1");
    expect(text).toContain("failed: timeout, no result within 5000 ms");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("dialog").count()).toBe(0);
    expect(await opener.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.close();
  });

  test("a chart saves as SVG with its own colours, and as PNG", async () => {
    const { page } = await browser.open(big);
    await page.waitForSelector("figure svg");
    const saved = async (kind: string): Promise<Buffer> => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByLabel(`save Answers and tasks as ${kind}`).click(),
      ]);
      expect(download.suggestedFilename()).toBe(`Answers-and-tasks.${kind.toLowerCase()}`);
      return readFileSync(await download.path());
    };
    const svg = (await saved("SVG")).toString();
    expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(svg).toContain('fill="#2f6fd0"');
    expect((await saved("PNG")).subarray(1, 4).toString()).toBe("PNG");
    await page.close();
  });

  test("several runs overlay, each in its colour, with a legend", async () => {
    const { page } = await browser.open(two);
    await page.waitForSelector("figure svg");
    const first = page.locator("figure").first();
    expect(await first.locator(".legend li").allTextContents()).toEqual(["small", "big"]);
    expect(await page.locator("figure h3").allTextContents()).toContain("Time by phase: big");
    await page.close();
  });

  const views = [
    { name: "light", scheme: "light", width: 1280 },
    { name: "dark", scheme: "dark", width: 1280 },
    { name: "on a phone", scheme: "light", width: 390 },
  ] as const;

  test.each(views)("axe finds nothing serious, and nothing is too wide ($name)", async (view) => {
    const { page } = await browser.open(two, { ...view, height: 844 });
    await page.waitForSelector("figure svg");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(view.width);
    expect(await seriousIn(page)).toEqual([]);
    await page.locator("td.task button").first().click();
    await page.waitForSelector("dialog[open]");
    expect(await seriousIn(page)).toEqual([]);
    await page.close();
  });
});

/** axe-core's serious and critical findings, as "rule: element". */
async function seriousIn(page: Page): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  return page.evaluate(async () => {
    type Found = { id: string; impact: string; nodes: { html: string }[] };
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Found[] }> } };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.slice(0, 5).map(({ html }) => `${id}: ${html.slice(0, 200)}`),
      );
  });
}
