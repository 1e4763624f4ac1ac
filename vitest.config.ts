import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    // Two cores: tests that start processes would otherwise fight for them.
    maxWorkers: 2,
  },
});
