/** One line of `genenv doctor`. */
export interface Finding {
  name: string;
  /** "fail": nothing runs like this. "warning": it runs, slower or not for long. */
  status: "ok" | "warning" | "fail";
  /** What was seen. */
  value: string;
  /** Why it matters. */
  why: string;
  /** How to mend it; null where it is well. */
  mend: string | null;
}

export function fine(name: string, value: string, why: string): Finding {
  return { name, status: "ok", value, why, mend: null };
}

export function poor(
  name: string,
  status: "warning" | "fail",
  value: string,
  why: string,
  mend: string,
): Finding {
  return { name, status, value, why, mend };
}
