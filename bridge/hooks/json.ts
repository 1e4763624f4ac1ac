/** JSON for the wire: only what JSON can hold exactly, and only text that UTF-8 can hold. */

/** Throws an Error that names the path and the value of the first thing JSON can't hold. */
export function toWireJson(value: unknown): string {
  const json = JSON.stringify(value, checkValue);
  if (json === undefined) throw new Error(`the result is ${String(value)}, which JSON can't hold`);
  // Only a lone surrogate is escaped as \ud8xx by JSON.stringify; rare enough to pay for it twice.
  return /\\ud[89a-f]/.test(json) ? JSON.stringify(JSON.parse(json), wellFormed) : json;
}

function checkValue(key: string, value: unknown): unknown {
  const isHeld =
    value === null ||
    typeof value === "string" ||
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value)) ||
    typeof value === "object" ||
    value === undefined;
  if (!isHeld) throw new Error(`"${key}" is ${String(value)}, which JSON can't hold`);
  return value;
}

function wellFormed(_key: string, value: unknown): unknown {
  if (typeof value === "string") return toWellFormed(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [toWellFormed(key), item]));
}

/** The text with each lone surrogate replaced by U+FFFD: the rule of both sides of the wire. */
export function toWellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
