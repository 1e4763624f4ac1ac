/** What a grader reads: the model's response alone, never the prompt, and the task's ground truth. */
export interface GraderInput {
  response: string;
  groundTruth: unknown;
}

/** What a grader says about one response. */
export interface Grade {
  /** From 0 (wrong) to 1 (right); between them only where a grader gives partial credit. */
  score: number;
  /** What the grader took to be the answer, or null where it found none. */
  extracted: string | null;
  /** What was found, and why it does or does not match. */
  reason: string;
  /** The score's parts, where a grader has any. */
  metrics?: Record<string, number>;
}

/** A pure function of its input: it keeps nothing, reads nothing else and never throws. */
export type Grader<Options = unknown> = (input: GraderInput, options?: Options) => Grade;

/** A full score, with what was found and why it matches. */
export function right(extracted: string | null, reason: string): Grade {
  return { score: 1, extracted, reason };
}

/** A zero, with what was found (null: nothing) and why it does not match. */
export function wrong(extracted: string | null, reason: string): Grade {
  return { score: 0, extracted, reason };
}
