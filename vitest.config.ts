import { defineConfig } from "vitest/config";

const source = (file: string): string => new URL(file, import.meta.url).pathname;

// The examples import the package by its name: here that is the source, not a build.
const resolve = {
  alias: [
    { find: /^genenv$/, replacement: source("sdk/index.ts") },
    { find: /^genenv\/graders$/, replacement: source("sdk/graders/index.ts") },
    { find: /^genenv\/testing$/, replacement: source("sdk/testing.ts") },
    { find: /^genenv\/notebook$/, replacement: source("sdk/notebook.ts") },
  ],
};

export default defineConfig({
  test: {
    globalSetup: ["test/global-setup.ts"],
    projects: [
      {
        resolve,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: ["test/stack/**"],
          testTimeout: 60_000,
          // A shared machine may starve a process for seconds; a poll that succeeds doesn't wait.
          expect: { poll: { timeout: 20_000 } },
          // Two cores: tests that start processes would otherwise fight for them.
          maxWorkers: 2,
        },
      },
      {
        resolve,
        // Ray, veRL and vLLM for real: minutes, one run at a time.
        test: {
          name: "stack",
          include: ["test/stack/*.test.ts"],
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
      {
        resolve,
        test: {
          name: "stack-long",
          include: ["test/stack/long/*.test.ts"],
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
    ],
  },
});
