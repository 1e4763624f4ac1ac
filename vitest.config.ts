import { defineConfig } from "vitest/config";

const source = (file: string): string => new URL(file, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    // The examples import the package by its name: here that is the source, not a build.
    alias: [
      { find: /^genenv$/, replacement: source("sdk/index.ts") },
      { find: /^genenv\/graders$/, replacement: source("sdk/graders/index.ts") },
      { find: /^genenv\/testing$/, replacement: source("sdk/testing.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/global-setup.ts"],
    testTimeout: 30_000,
    // Two cores: tests that start processes would otherwise fight for them.
    maxWorkers: 2,
  },
});
