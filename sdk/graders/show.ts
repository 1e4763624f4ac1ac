const longest = 200;

/** Text on one line, cut to 200 characters, for a reason. */
export function clip(text: string): string {
  const flat = text.slice(0, longest + 1).replace(/\s+/g, " ");
  return flat.length > longest ? `${flat.slice(0, longest)}…` : flat;
}

/** Any value as short text, for a reason; never throws. */
export function show(value: unknown): string {
  if (typeof value === "string") return clip(value);
  if (typeof value === "bigint") return `${value}`;
  if (value === null || typeof value !== "object") return clip(String(value));
  try {
    return clip(
      JSON.stringify(value, (_key, part) => (typeof part === "bigint" ? `${part}` : part)),
    );
  } catch {
    // Circular, or a hostile toJSON: the kind of value is all that can be said.
    return Array.isArray(value) ? "an array" : "an object";
  }
}
