import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";

const places = [process.env.GENENV_TEST_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];

/** A Chromium on this machine, or null: then the tests in a browser are skipped. */
export const chromiumPath: string | null =
  places.find((place): place is string => place !== undefined && existsSync(place)) ?? null;

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Browser {
  /** Opens a file; `heard` collects console messages, errors and requests beyond the file itself. */
  open(file: string, options?: PageOptions): Promise<{ page: Page; heard: string[] }>;
  close(): Promise<void>;
}

export interface PageOptions {
  width?: number;
  height?: number;
  scheme?: "light" | "dark";
}

/** A fresh Chromium with a profile of its own. */
export async function startBrowser(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  const profile = mkdtempSync(join(tmpdir(), "genenv-chromium-"));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath ?? "",
    args: flags,
    acceptDownloads: true,
  });
  return {
    async open(file, { width = 1280, height = 900, scheme = "light" } = {}) {
      const page = await context.newPage();
      const heard: string[] = [];
      page.on("console", (message) => heard.push(`${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => heard.push(`error: ${error.message}`));
      page.on("request", (request) => {
        if (!/^(file|blob):/.test(request.url())) heard.push(`request: ${request.url()}`);
      });
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(`file://${file}`);
      await page.waitForSelector("main");
      return { page, heard };
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
