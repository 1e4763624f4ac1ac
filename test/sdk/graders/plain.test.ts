import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  builtinGraders,
  contains,
  exact,
  f1,
  jsonSchema,
  numeric,
  regex,
} from "../../../sdk/graders/index.js";

describe("exact", () => {
  it("wants the text itself, blanks at the ends and thinking aside", () => {
    expect(exact({ response: " Paris\n", groundTruth: "Paris" }).score).toBe(1);
    expect(
      exact({ response: "<think>Rome?</think>Paris", groundTruth: { answer: "Paris" } }).score,
    ).toBe(1);
    expect(exact({ response: "paris", groundTruth: "Paris" }).score).toBe(0);
    expect(exact({ response: "It is Paris", groundTruth: "Paris" }).score).toBe(0);
  });

  it("takes one of several, numbers, and the conventions it is given", () => {
    expect(exact({ response: "b", groundTruth: ["a", "b"] }).score).toBe(1);
    expect(exact({ response: "5", groundTruth: 5 }).score).toBe(1);
    expect(exact({ response: "PARIS", groundTruth: "Paris" }, { caseSensitive: false }).score).toBe(
      1,
    );
    expect(exact({ response: "a ", groundTruth: "a" }, { trim: false }).score).toBe(0);
  });

  it("says what was said and what was wanted", () => {
    expect(exact({ response: "a", groundTruth: "b" }).reason).toBe("a is not b");
    expect(exact({ response: "a", groundTruth: {} }).reason).toBe("the ground truth is no text");
  });
});

describe("numeric", () => {
  it.each([
    ["The answer is 3.1415927.", Math.PI],
    ["\\boxed{1,234}", "1234"],
    ["so 0.5", "1/2"],
    ["\\boxed{50\\%}", 0.5],
    ["#### -7", -7],
    ["\\boxed{2\\sqrt{2}}", 2.8284271247],
    ["about 12 of them", 12],
    ["\\boxed{x = 1e3}", 1000],
  ])("%s is near %s", (response, groundTruth) => {
    expect(numeric({ response, groundTruth }).score).toBe(1);
  });

  it("keeps to its tolerance", () => {
    expect(numeric({ response: "3.14", groundTruth: Math.PI }).score).toBe(0);
    expect(numeric({ response: "3.14", groundTruth: Math.PI }, { absolute: 0.01 }).score).toBe(1);
    expect(numeric({ response: "101", groundTruth: 100 }, { relative: 0.01 }).score).toBe(1);
    expect(numeric({ response: "102", groundTruth: 100 }, { relative: 0.01 }).score).toBe(0);
    expect(numeric({ response: "0.1", groundTruth: 0 }).score).toBe(0);
  });

  it("says what is no number", () => {
    expect(numeric({ response: "\\boxed{x}", groundTruth: 1 }).reason).toContain("is no number");
    expect(numeric({ response: "1", groundTruth: "x" }).reason).toBe(
      "the ground truth is no number",
    );
    expect(numeric({ response: "1", groundTruth: "1/0" }).reason).toBe(
      "the ground truth is no number",
    );
  });
});

describe("regex", () => {
  it("searches, or matches all of the response", () => {
    expect(regex({ response: "id: AB-12.", groundTruth: "[A-Z]{2}-\\d+" }).score).toBe(1);
    expect(
      regex({ response: "id: AB-12.", groundTruth: "[A-Z]{2}-\\d+" }, { match: "full" }).score,
    ).toBe(0);
    expect(
      regex({ response: " AB-12 ", groundTruth: "[A-Z]{2}-\\d+" }, { match: "full" }).score,
    ).toBe(1);
    expect(
      regex({ response: "yes", groundTruth: null }, { pattern: "YES", caseSensitive: false }).score,
    ).toBe(1);
  });

  it("gives the first group as what it found", () => {
    expect(regex({ response: "x = 42", groundTruth: "x = (\\d+)" }).extracted).toBe("42");
  });

  it("is linear where a backtracking engine never ends", () => {
    const response = `${"a".repeat(50_000)}!`;
    expect(regex({ response, groundTruth: "^(a+)+$" }).score).toBe(0);
  });

  it("says what is wrong with a pattern", () => {
    expect(regex({ response: "a", groundTruth: "(" }).reason).toContain("cannot be read");
    expect(regex({ response: "a", groundTruth: "(?=a)" }).reason).toContain("cannot be read");
    expect(regex({ response: "a", groundTruth: "a".repeat(1001) }).reason).toContain(
      "longer than 1000",
    );
    expect(regex({ response: "a", groundTruth: "((a{1000}){1000}){1000}" }).reason).toContain(
      "cannot be read",
    );
  });
});

describe("jsonSchema", () => {
  const schema = {
    type: "object",
    properties: { age: { type: "integer", minimum: 0 } },
    required: ["age"],
  };

  it("takes JSON alone, after thinking, or in a code fence", () => {
    for (const response of [
      '{"age": 3}',
      '<think>hm</think>{"age": 3}',
      'Here:\n```json\n{"age": 3}\n```\n',
    ]) {
      expect(jsonSchema({ response, groundTruth: schema }).score).toBe(1);
      expect(jsonSchema({ response, groundTruth: JSON.stringify(schema) }).score).toBe(1);
    }
  });

  it("says where the schema refuses the JSON", () => {
    expect(jsonSchema({ response: '{"age": -1}', groundTruth: schema }).reason).toContain("/age");
    expect(jsonSchema({ response: "{}", groundTruth: schema }).reason).toContain("age");
    expect(jsonSchema({ response: "age 3", groundTruth: schema }).reason).toBe(
      "the response is not valid JSON",
    );
  });

  it("takes a zod schema", () => {
    const zod = z.object({ age: z.number() });
    expect(jsonSchema({ response: '{"age": 3}', groundTruth: null }, { schema: zod }).score).toBe(
      1,
    );
    expect(
      jsonSchema({ response: '{"age": "3"}', groundTruth: null }, { schema: zod }).reason,
    ).toContain("age");
  });

  it("runs patterns in linear time, and says what is wrong with a schema", () => {
    const slow = { type: "string", pattern: "^(a+)+$" };
    expect(jsonSchema({ response: `"${"a".repeat(5000)}!"`, groundTruth: slow }).score).toBe(0);
    expect(jsonSchema({ response: '"aaa"', groundTruth: slow }).score).toBe(1);
    expect(jsonSchema({ response: "1", groundTruth: { type: "nope" } }).reason).toContain(
      "cannot be read",
    );
    expect(jsonSchema({ response: "1", groundTruth: { pattern: "(?=a)" } }).reason).toContain(
      "cannot be read",
    );
    expect(jsonSchema({ response: "1", groundTruth: "x" }).reason).toBe(
      "the ground truth is no JSON Schema",
    );
  });
});

describe("contains", () => {
  it("wants every text as whole words, in any case", () => {
    expect(
      contains({ response: "Paris is in France.", groundTruth: ["france", "Paris"] }).score,
    ).toBe(1);
    expect(contains({ response: "Paris", groundTruth: ["france", "Paris"] }).score).toBe(0);
    expect(
      contains({ response: "Paris", groundTruth: ["france", "Paris"] }, { list: "any" }).score,
    ).toBe(1);
    expect(contains({ response: "it is 3125", groundTruth: "12" }).score).toBe(0);
    expect(contains({ response: "it is 3125", groundTruth: "12" }, { words: false }).score).toBe(1);
    expect(
      contains({ response: "paris", groundTruth: "Paris" }, { caseSensitive: true }).score,
    ).toBe(0);
  });

  it("leaves thinking out and says what is missing", () => {
    expect(contains({ response: "<think>Paris</think>Rome", groundTruth: "Paris" }).reason).toBe(
      "the response lacks Paris",
    );
  });
});

describe("f1", () => {
  it("is the harmonic mean of precision and recall over words", () => {
    // Two of three words said are among the four wanted: 2 · (2/3) · (2/4) / (2/3 + 2/4) = 4/7.
    const grade = f1({ response: "red green blue", groundTruth: "red blue black white" });
    expect(grade.score).toBeCloseTo(4 / 7, 12);
    expect(grade.metrics).toEqual({ precision: 2 / 3, recall: 0.5 });
  });

  it("drops case, punctuation and articles, and takes the best of several", () => {
    expect(f1({ response: "The Eiffel Tower!", groundTruth: "eiffel tower" }).score).toBe(1);
    expect(f1({ response: "rome", groundTruth: ["paris", "Rome"] }).score).toBe(1);
    expect(
      f1({ response: "the", groundTruth: "the cat" }, { dropArticles: false }).score,
    ).toBeCloseTo(2 / 3, 12);
  });

  it("is nothing without a shared word", () => {
    expect(f1({ response: "", groundTruth: "a cat" }).score).toBe(0);
    expect(f1({ response: "dog", groundTruth: "cat" }).score).toBe(0);
  });
});

describe("the table of built-in graders", () => {
  it("names every grader", () => {
    const names = "math toolCalls webActions exact numeric regex jsonSchema contains f1".split(" ");
    expect(Object.keys(builtinGraders)).toEqual(names);
  });
});
