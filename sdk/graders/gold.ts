/** The names under which a ground truth's answer may stand, first found first taken. */
const answerKeys = ["answer", "ground_truth", "groundTruth", "target"] as const;
const deepest = 4;
const longestJson = 200_000;

/**
 * The answer inside a ground truth: itself, or what stands under "answer" (or "ground_truth", "groundTruth",
 * "target") of an object or of an object's JSON text. Anything else comes back as it is.
 */
export function unwrapGold(groundTruth: unknown): unknown {
  let value = groundTruth;
  for (let depth = 0; depth < deepest; depth++) {
    const inner = innerAnswer(value);
    if (inner === undefined) return value;
    value = inner;
  }
  return value;
}

function innerAnswer(value: unknown): unknown {
  const object = typeof value === "string" ? parseObject(value) : value;
  if (typeof object !== "object" || object === null || Array.isArray(object)) return undefined;
  for (const key of answerKeys) {
    if (Object.hasOwn(object, key)) return (object as Record<string, unknown>)[key];
  }
  return undefined;
}

function parseObject(text: string): unknown {
  if (text.length > longestJson) return undefined;
  const start = text.trimStart();
  if (!start.startsWith("{") || !start.trimEnd().endsWith("}")) return undefined;
  try {
    return JSON.parse(start);
  } catch {
    return undefined; // Plain text that happens to stand in braces, such as a set.
  }
}

/** A ground truth's text: strings as they are, numbers and booleans printed; null for anything else. */
export function goldText(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
    return String(value);
  }
  return null;
}

/** Each acceptable text of a ground truth: an array lists alternatives. Empty where there is no text at all. */
export function goldTexts(groundTruth: unknown): string[] {
  const value = unwrapGold(groundTruth);
  const all = Array.isArray(value) ? value.map(unwrapGold) : [value];
  return all.map(goldText).filter((text): text is string => text !== null);
}
