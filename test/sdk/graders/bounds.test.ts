import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { builtinGraders } from "../../../sdk/graders/index.js";

const million = 1_000_000;
const many = (part: string, times: number): string => part.repeat(times);

/** Texts made to be slow, deep or huge; the bench (bench/graders.ts) records the time of each. */
const hostile: Record<string, string> = {
  "a tower of exponents": "\\boxed{9^{9^{9^{9^9}}}}",
  "a huge power": "\\boxed{2^{99999999}}",
  "a factorial of a factorial": "\\boxed{((10!)!)!}",
  "a huge exponent in a decimal": "\\boxed{1e999999999}",
  "deep brackets": `\\boxed{${many("(", 100_000)}1${many(")", 100_000)}}`,
  "deep fractions": `\\boxed{${many("\\frac{1}{1+", 300)}x${many("}", 300)}}`,
  "a megabyte of open boxes": many("\\boxed{", million / 7),
  "a megabyte of digits": `\\boxed{${many("1", million)}}`,
  "a megabyte of dollars": many("$", million),
  "a megabyte of backslashes": many("\\", million),
  "a megabyte of answers": many("answer is ", million / 10),
  "a megabyte of thinking": many("<think>", million / 7),
  "a megabyte of calls": many('<tool_call>{"name": "a"}', million / 24),
  "deep JSON": `<tool_call>${many("[", 100_000)}`,
  "deep objects": `${many('{"a":', 100_000)}1${many("}", 100_000)}`,
  "a megabyte of actions": many("click(bid=1", million / 11),
  "quotes that never end": `type(bid=1, value=${many('"', 100_000)}`,
  "a long list": `\\boxed{${Array.from({ length: 700 }, (_one, at) => `${at}`).join(", ")}}`,
  "a list of roots": `\\boxed{${Array.from({ length: 90 }, (_one, at) => `\\sqrt{${at + 2}}`).join(", ")}}`,
  "a sum of roots": `\\boxed{${Array.from({ length: 90 }, (_one, at) => `\\sqrt[${at + 3}]{${at + 2}}`).join("+")}}`,
};

/** A ground truth of the kind that each grader reads. */
const golds: Partial<Record<string, unknown>> = {
  toolCalls: { name: "a", parameters: { b: 1 } },
  webActions: "click(bid=1)",
  regex: "(a*)*b",
  jsonSchema: { type: "object", properties: { a: { $ref: "#" } } },
};

const names = Object.keys(builtinGraders) as (keyof typeof builtinGraders)[];

describe.each(names)("%s", (name) => {
  const grade = builtinGraders[name];

  it("never throws on any text", () => {
    const pieces = fc.constantFrom(
      ...'\\boxed{ \\frac{ } { ( ) [ ] , ; | ^ _ ! % $ \\\\ & = < > \\le \\pm \\sqrt \\log \\sin x 1 2.5 e i \\pi \\text{ cm <think> </think> <tool_call> </tool_call> "name" : \' click( ) #### answer'.split(
        " ",
      ),
    );
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: "binary" }),
      fc.array(pieces).map((parts) => parts.join("")),
    );
    const gold = fc.oneof(text, fc.anything(), fc.jsonValue());
    fc.assert(
      fc.property(text, gold, (response, groundTruth) => {
        const { score, extracted, reason } = grade({ response, groundTruth });
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
        expect(extracted === null || typeof extracted === "string").toBe(true);
        expect(typeof reason).toBe("string");
      }),
      { numRuns: 400, seed: 7 },
    );
  });

  it("takes any ground truth that JSON can hold, and a response that is no text", () => {
    for (const groundTruth of [null, undefined, 1, true, [], {}, Number.NaN, 1n, { answer: {} }]) {
      expect(grade({ response: "1", groundTruth }).score).toBeTypeOf("number");
      expect(grade({ response: null as unknown as string, groundTruth }).score).toBe(0);
    }
  });

  it.each(Object.entries(hostile))("is bounded on %s", (_what, text) => {
    for (const gold of [golds[name] ?? "\\frac{1}{2}", hostile["a sum of roots"]]) {
      const start = performance.now();
      const boxed = text.startsWith("\\boxed") ? text : `\\boxed{${text}}`;
      for (const response of [text, boxed]) grade({ response, groundTruth: gold });
      grade({ response: "\\boxed{1}", groundTruth: text });
      // Generous: three gradings that may each take 50 ms, on a machine that others share.
      expect(performance.now() - start).toBeLessThan(2000);
    }
  });
});
