import { describe, expect, it } from "vitest";
import { type ToolCallsOptions, toolCalls } from "../../../sdk/graders/index.js";

const gold = { name: "set_valve", parameters: { valve: 1, bed: "north", open: true } };
const call = '{"name": "set_valve", "arguments": {"valve": 1, "bed": "north", "open": true}}';

function scoreOf(
  response: string,
  groundTruth: unknown = gold,
  options?: ToolCallsOptions,
): number {
  return toolCalls({ response, groundTruth }, options).score;
}

function block(text: string): string {
  return `<tool_call>\n${text}\n</tool_call>`;
}

describe("toolCalls reads", () => {
  it.each([
    ["a block on one line", `<tool_call>${call}</tool_call>`],
    ["a block over several lines", block(JSON.stringify(JSON.parse(call), null, 2))],
    ["a block in a code fence", block(`\`\`\`json\n${call}\n\`\`\``)],
    ["a list in a block", block(`[${call}]`)],
    ["text around a block", `2 < 3, so:\n${block(call)}\nDone.`],
    ["a block without its close tag", `<tool_call>${call}`],
    ["a block whose close tag a stop token took", `<tool_call>${call}<|im_end|>`],
    ["parameters for arguments", block(call.replace("arguments", "parameters"))],
    [
      "arguments as JSON text",
      block(JSON.stringify({ name: "set_valve", arguments: JSON.stringify(gold.parameters) })),
    ],
    ["OpenAI's function wrapper", block(`{"type": "function", "id": "1", "function": ${call}}`)],
    [
      "an OpenAI message",
      `{"role": "assistant", "tool_calls": [{"type": "function", "function": ${call}}]}`,
    ],
    [
      "a close tag inside a string",
      block(
        '{"name": "set_valve", "arguments": {"valve": 1, "bed": "north", "open": true, "note": "</tool_call>"}}',
      ),
    ],
    [
      "an open <think> inside a string",
      block(
        '{"name": "set_valve", "arguments": {"valve": 1, "bed": "north", "open": true, "note": "<think>"}}',
      ),
    ],
    [
      "a call after thinking with another",
      `<think>${block('{"name": "other"}')}</think>${block(call)}`,
    ],
    [
      "a call after thinking that the prompt opened",
      `${block('{"name": "other"}')}</think>${block(call)}`,
    ],
  ])("%s", (_what, response) => {
    expect(scoreOf(response)).toBe(1);
  });

  it("a raw newline in a string as the character it is", () => {
    const response = block('{"name": "say", "arguments": {"text": "one\ntwo"}}');
    expect(scoreOf(response, { name: "say", parameters: { text: "one\ntwo" } })).toBe(1);
  });

  it.each([
    ["a call only inside thinking", `<think>${block(call)}</think>Done.`],
    ["a call in thinking that never ends", `<think>${block(call)}`],
    ["JSON without tags", call],
    ["a call cut off", `<tool_call>${call.slice(0, -3)}`],
    ["text in a block beside the JSON", block(`${call} and so on`)],
    ["a trailing comma", block(call.replace("true}", "true,}"))],
    ["single quotes", block(call.replaceAll('"', "'"))],
    ["a broken block beside a right one", `${block("{broken")}${block(call)}`],
    [
      "parameters beside the name",
      block('{"name": "set_valve", "valve": 1, "bed": "north", "open": true}'),
    ],
    ["a call without a name", block('{"arguments": {"valve": 1}}')],
    ["prose", "Call set_valve with valve 1."],
    ["nothing", ""],
  ])("no call in %s", (_what, response) => {
    expect(scoreOf(response)).toBe(0);
  });

  it("JSON without tags where asked", () => {
    expect(scoreOf(call, gold, { bare: true })).toBe(1);
    expect(scoreOf(`${call}\n${call}`, [gold, gold], { bare: true })).toBe(1);
    expect(scoreOf(`Sure: ${call}`, gold, { bare: true })).toBe(0);
  });
});

describe("toolCalls compares values", () => {
  const valueScore = (given: string, wanted: unknown): number =>
    scoreOf(block(`{"name": "f", "arguments": {"x": ${given}}}`), {
      name: "f",
      parameters: { x: wanted },
    });

  it.each([
    ["1.0", 1],
    ["1e0", 1],
    ["100", 1e2],
    ["1e21", 1e21],
    ["-0", 0],
    ["0.50", 0.5],
    ["9007199254740993", 9007199254740993n],
    ['"a"', "a"],
    ['"\\u0061"', "a"],
    ["[1, 2.0]", [1, 2]],
    ['{"b": 2, "a": 1}', { a: 1, b: 2 }],
    ["false", false],
  ])("%s is %s", (given, wanted) => {
    expect(valueScore(given, wanted)).toBe(1);
  });

  it.each([
    ["true", 1],
    ["1", true],
    ['"1"', 1],
    ["1", "1"],
    ['"true"', true],
    ["9007199254740992", 9007199254740993n],
    ["0.1", 0.2],
    ['"A"', "a"],
    ['"a "', "a"],
    ["[2, 1]", [1, 2]],
    ["[1]", [1, 2]],
    ["[1]", 1],
    ["null", 1],
    ['{"a": 1, "b": 2}', { a: 1 }],
    ['{"a": 2}', { a: 1 }],
  ])("%s is not %s", (given, wanted) => {
    expect(valueScore(given, wanted)).toBe(0);
  });

  it("names that JavaScript gives a meaning to like any other", () => {
    const text = '{"name": "f", "arguments": {"__proto__": 1, "constructor": 2}}';
    const wanted = '{"name": "f", "parameters": {"__proto__": 1, "constructor": 2}}';
    expect(scoreOf(block(text), wanted)).toBe(1);
    expect(scoreOf(block('{"name": "f", "arguments": {}}'), wanted)).toBe(0);
  });
});

describe("toolCalls asks for", () => {
  const f = (x: number): string => block(`{"name": "f", "arguments": {"x": ${x}}}`);
  const one = { name: "f", parameters: { x: 1 } };
  const two = { name: "f", parameters: { x: 2 } };

  it("every call of a list, in any order and no other", () => {
    expect(scoreOf(f(2) + f(1), [one, two])).toBe(1);
    expect(scoreOf(f(1), [one, two])).toBe(0);
    expect(scoreOf(f(1) + f(1), [one, two])).toBe(0);
    expect(scoreOf(f(1) + f(2) + f(3), [one, two])).toBe(0);
    expect(scoreOf(f(1) + f(2) + f(3), [one, two], { extraCalls: "allow" })).toBe(1);
  });

  it("the assignment that meets most, where a call meets two wanted ones", () => {
    const wide = { name: "f", parameters: {} };
    expect(scoreOf(f(1) + f(2), [wide, one])).toBe(1);
    expect(scoreOf(f(1) + f(2), [one, wide])).toBe(1);
    expect(scoreOf(f(2) + f(2), [wide, one])).toBe(0);
  });

  it("one of several alternatives", () => {
    expect(scoreOf(f(2), { anyOf: [one, two] })).toBe(1);
    expect(scoreOf(f(2), [one, two], { list: "any" })).toBe(1);
    expect(scoreOf(f(3), { anyOf: [one, two] })).toBe(0);
    expect(scoreOf(f(1) + f(2), { anyOf: [[one, two], one] })).toBe(1);
  });

  it("no call where the list is empty", () => {
    expect(scoreOf("I answer directly.", [])).toBe(1);
    expect(scoreOf(f(1), [])).toBe(0);
    expect(scoreOf(block("{broken"), [])).toBe(0);
  });

  it("nothing for a parameter that is null or empty in the ground truth", () => {
    const wanted = { name: "f", parameters: { x: 1, y: null, z: "", w: [] } };
    expect(scoreOf(f(1), wanted)).toBe(1);
  });

  it("what JSON text, an arguments key or an answer column says", () => {
    for (const wanted of [
      JSON.stringify(one),
      { name: "f", arguments: { x: 1 } },
      { answer: one },
      { answer: JSON.stringify([one]) },
    ]) {
      expect(scoreOf(f(1), wanted)).toBe(1);
      expect(scoreOf(f(2), wanted)).toBe(0);
    }
  });

  it("says what is wrong with a ground truth that is no call", () => {
    for (const wanted of [null, 5, "call f", { parameters: {} }, [{}]]) {
      expect(toolCalls({ response: f(1), groundTruth: wanted })).toMatchObject({ score: 0 });
      expect(toolCalls({ response: f(1), groundTruth: wanted }).reason).toContain("ground truth");
    }
  });
});

describe("toolCalls follows the conventions it is given", () => {
  const given = block('{"name": "f", "arguments": {"city": "New York", "extra": 1}}');
  const wanted = { name: "f", parameters: { city: "New York" } };

  it("extra parameters are allowed unless they are refused", () => {
    expect(scoreOf(given, wanted)).toBe(1);
    expect(scoreOf(given, wanted, { extraParameters: "refuse" })).toBe(0);
  });

  it("an answer key in BFCL's form lists values, optional parameters and every parameter there is", () => {
    const key = [{ f: { city: ["NYC", "New York"], extra: [1, 2, ""] } }];
    expect(scoreOf(given, key)).toBe(1);
    expect(scoreOf(block('{"name": "f", "arguments": {"city": "NYC"}}'), key)).toBe(1);
    expect(scoreOf(block('{"name": "f", "arguments": {"city": "NYC", "extra": 3}}'), key)).toBe(0);
    expect(scoreOf(block('{"name": "f", "arguments": {"city": "NYC", "other": 1}}'), key)).toBe(0);
    expect(
      scoreOf(block('{"name": "f", "arguments": {"city": "NYC", "other": 1}}'), key, {
        extraParameters: "allow",
      }),
    ).toBe(1);
  });

  it("allowed values and optional parameters can be asked for", () => {
    const listed = { name: "f", parameters: { city: ["NYC", "New York"], extra: [2, ""] } };
    expect(
      scoreOf(block('{"name": "f", "arguments": {"city": "NYC"}}'), listed, {
        allowedValues: true,
      }),
    ).toBe(1);
    expect(scoreOf(given, listed, { allowedValues: true })).toBe(0);
    const both = { name: "f", parameters: { city: "NYC", extra: 2 } };
    expect(
      scoreOf(block('{"name": "f", "arguments": {"city": "NYC"}}'), both, { optional: ["extra"] }),
    ).toBe(1);
    expect(
      scoreOf(block('{"name": "f", "arguments": {"city": "NYC", "extra": 3}}'), both, {
        optional: ["extra"],
      }),
    ).toBe(0);
  });

  it("strings can be compared loosely", () => {
    const response = block('{"name": "f", "arguments": {"city": "new-york"}}');
    expect(scoreOf(response, wanted)).toBe(0);
    expect(scoreOf(response, wanted, { strings: "loose" })).toBe(1);
  });

  it("partial credit counts format, name and parameters, and stays below a right response's", () => {
    const half = { name: "f", parameters: { city: "New York", day: 2 } };
    const grade = toolCalls({ response: given, groundTruth: half }, { partial: true });
    expect(grade.metrics).toEqual({ format: 1, name: 1, parameters: 0.5 });
    expect(grade.score).toBeCloseTo(0.75);
    expect(scoreOf(given, { name: "g", parameters: {} }, { partial: true })).toBeCloseTo(0.2);
    expect(scoreOf("no call", half, { partial: true })).toBe(0);
    expect(scoreOf(given, half, { partial: { format: 0, name: 1, parameters: 0 } })).toBe(0.99);
  });
});

describe("toolCalls says why", () => {
  it.each([
    ["no call at all", "hello", "no call was found"],
    ["a wrong name", block('{"name": "set_valves"}'), "set_valves is not set_valve"],
    [
      "a missing parameter",
      block('{"name": "set_valve", "arguments": {"valve": 1, "bed": "north"}}'),
      "parameter open is missing",
    ],
    ["a wrong value", block(call.replace("north", "south")), "parameter bed has another value"],
    ["a call too many", block(call) + block(call), "2 calls where 1"],
    ["a call that is not JSON", block("{broken"), "not valid JSON"],
  ])("%s", (_what, response, reason) => {
    expect(toolCalls({ response, groundTruth: gold }).reason).toContain(reason);
  });
});
