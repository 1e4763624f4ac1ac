/** A vote among the agent's answers to one task. */
export interface Vote {
  /** The answer that becomes the task's ground truth; null where too few agree, or no response has one. */
  label: string | null;
  /** The share of all responses that give the most frequent answer, from 0 to 1. */
  agreement: number;
}

/**
 * The most frequent answer as a label (`genenv.labels: majority`): of equals, the one that comes first. A response
 * without an answer (null) counts as one that disagrees. Below `minAgreement` there is no label.
 */
export function majorityLabel(answers: readonly (string | null)[], minAgreement: number): Vote {
  const votes = new Map<string, number>();
  for (const answer of answers) {
    if (answer !== null) votes.set(answer, (votes.get(answer) ?? 0) + 1);
  }
  const [label, count] = [...votes].reduce<readonly [string | null, number]>(
    (best, entry) => (entry[1] > best[1] ? entry : best),
    [null, 0],
  );
  const agreement = answers.length === 0 ? 0 : count / answers.length;
  return { label: agreement + rounding >= minAgreement ? label : null, agreement };
}

// 3/5 is a hair below 0.6.
const rounding = 1e-9;
