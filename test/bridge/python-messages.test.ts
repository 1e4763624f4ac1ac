import { describe, expect, test } from "vitest";
import { ConfigError, PythonError } from "../../bridge/errors.js";
import { createMessageReader, toRequest } from "../../bridge/python/control-messages.js";
import { toDeathError, toJobError } from "../../bridge/python/job-errors.js";

function frame(message: unknown): Buffer {
  const body = Buffer.from(typeof message === "string" ? message : JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  return Buffer.concat([head, body]);
}

describe("the messages from Python", () => {
  const messages = [
    { id: 1, event: { type: "phase", text: "ü🙂" } },
    { id: 2, result: null },
    { id: 1, result: { steps: 3 } },
  ];

  test("are read whole from one chunk, and from chunks of a byte", () => {
    const bytes = Buffer.concat(messages.map(frame));
    expect(createMessageReader()(bytes)).toEqual(messages);
    const read = createMessageReader();
    expect([...bytes].flatMap((byte) => read(Buffer.from([byte])))).toEqual(messages);
  });

  test("are waited for while a frame is incomplete", () => {
    const read = createMessageReader();
    const bytes = frame(messages[0]);
    expect(read(bytes.subarray(0, 3))).toEqual([]);
    expect(read(bytes.subarray(3, 10))).toEqual([]);
    expect(read(bytes.subarray(10))).toEqual([messages[0]]);
  });

  test.each([
    ["is not JSON", frame("{nope")],
    ["has no id", frame({ result: 1 })],
    ["holds an error without a code", frame({ id: 1, error: { message: "x" } })],
    ["is larger than any message", Buffer.from([0xff, 0xff, 0xff, 0xff])],
  ])("are refused when one %s", (_what, bytes) => {
    // An error that is not one would otherwise pass for a result of undefined.
    const read = (): unknown => createMessageReader()(bytes);
    expect(read).toThrow(PythonError);
    expect(read).toThrow(/not a message/);
  });
});

test("a request says null for what is absent and refuses a number that isn't finite", () => {
  expect(toRequest(3, "train", { a: undefined, b: [1, undefined] })).toBe(
    '{"id":3,"method":"train","params":{"a":null,"b":[1,null]}}',
  );
  expect(() => toRequest(3, "train", { lr: Number.POSITIVE_INFINITY })).toThrow(
    '"lr" for the job "train" is Infinity',
  );
});

describe("the error of a failed job", () => {
  const failure = { code: "bad-batch", message: "8 prompts", hint: null, traceback: "Traceback" };

  test("has the type of the same name when Python raised one of genenv's", () => {
    const type = "genenv.errors.ConfigError";
    const error = toJobError({ ...failure, type, hint: "use 4" }, "check", "/log");
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: "bad-batch", message: "8 prompts", hint: "use 4" });
    expect((error.cause as PythonError).traceback).toBe("Traceback");
  });

  test("names Python's type and the log otherwise", () => {
    const error = toJobError({ ...failure, type: "torch.OutOfMemoryError" }, "train", "/log");
    expect(error).toBeInstanceOf(PythonError);
    expect(error.message).toBe('the job "train" failed with torch.OutOfMemoryError: 8 prompts');
    expect(error.hint).toBe("the whole log is /log");
  });

  test("says that the log is empty when Python died without a word", () => {
    const exit = { code: 1, signal: null };
    const error = toDeathError(exit, "with no job running", { file: "/log", lines: [] });
    expect(error.message).toBe(
      "Python ended with exit code 1 with no job running; its log is empty",
    );
  });
});
