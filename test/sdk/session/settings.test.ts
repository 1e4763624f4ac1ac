import { describe, expect, test } from "vitest";
import {
  parseSessionConfig,
  type SessionConfig,
  toSampleCount,
  toSampling,
} from "../../../sdk/session/settings.js";

describe("a session's settings", () => {
  test("have defaults for all but the model", () => {
    expect(parseSessionConfig({ model: "m" })).toEqual({
      model: "m",
      device: "auto",
      dtype: null,
      maxModelTokens: null,
      kvCacheGib: 1,
      engine: {},
      sampling: { temperature: 1, topP: 1, topK: -1, maxTokens: 512, seed: null, stop: [] },
    });
  });

  test("name the key that is wrong and the value seen", () => {
    const wrong = { model: "m", kvCacheGib: 0.5 };
    expect(() => parseSessionConfig(wrong)).toThrowError(/^kvCacheGib: .* \(got 0.5\)$/);
    expect(() => parseSessionConfig({ model: "m", sampling: { topK: 0 } })).toThrowError(
      "sampling.topK: is -1 (all tokens) or more than 0 (got 0)",
    );
    expect(() => parseSessionConfig({ model: "m", colour: 1 } as SessionConfig)).toThrowError(
      /colour/,
    );
    expect(() => parseSessionConfig(null)).toThrowError(/the session's configuration: .*got null/);
  });
});

describe("sampling", () => {
  test("of a call is laid over the session's", () => {
    const base = toSampling({ temperature: 0.5, maxTokens: 9 });
    expect(toSampling({ maxTokens: 3 }, base)).toMatchObject({ temperature: 0.5, maxTokens: 3 });
    expect(toSampling(undefined, base)).toEqual(base);
  });

  test("refuses what means nothing", () => {
    for (const wrong of [
      { temperature: -0.1 },
      { topP: 0 },
      { topP: 1.5 },
      { maxTokens: 0 },
      { seed: -1 },
      { stop: [""] },
      { temperature: Number.NaN },
      { heat: 1 },
      "hot",
    ]) {
      expect(() => toSampling(wrong)).toThrowError(
        expect.objectContaining({ name: "ConfigError", code: "bad-value" }),
      );
    }
  });

  test("takes whole numbers of samples from 1", () => {
    expect(toSampleCount()).toBe(1);
    expect(toSampleCount(8)).toBe(8);
    expect(() => toSampleCount(0)).toThrowError("(got 0)");
    expect(() => toSampleCount(1.5)).toThrowError("(got 1.5)");
  });
});
