import { expect, test } from "vitest";
import {
  ConfigError,
  formatError,
  GenEnvError,
  isUsageError,
  PythonError,
} from "../../bridge/errors.js";

test("a formatted error shows message, place and next step, and no stack", () => {
  const error = new ConfigError('unknown key "genenv.alhpa"', {
    code: "unknown-key",
    hint: 'did you mean "genenv.alpha"?',
    place: { file: "my.yaml", line: 3, column: 5 },
  });
  expect(formatError(error)).toBe(
    'error: unknown key "genenv.alhpa"\n  at: my.yaml:3:5\n  next: did you mean "genenv.alpha"?',
  );
});

test("a formatted error has no empty lines for what it doesn't know", () => {
  expect(formatError(new ConfigError("no", { code: "x" }))).toBe("error: no");
});

test("debug adds the stacks of the error, of its causes, and Python's traceback", () => {
  const python = new PythonError("it broke", {
    code: "job-failed",
    traceback: "Traceback: line 7",
    cause: new Error("the root"),
  });
  const text = formatError(python, { debug: true });
  expect(text).toContain("Traceback: line 7");
  expect(text).toContain("caused by Error: the root");
});

test("an error that isn't ours says how to see its stack", () => {
  expect(formatError(new TypeError("x is undefined"))).toContain("--debug");
  expect(formatError("just text")).toContain("just text");
});

test("each subclass is a GenEnvError with its own name", () => {
  const error = new PythonError("gone", { code: "python-died" });
  expect(error).toBeInstanceOf(GenEnvError);
  expect(error.name).toBe("PythonError");
  expect(isUsageError(error)).toBe(false);
  expect(isUsageError(new ConfigError("bad", { code: "x" }))).toBe(true);
});
