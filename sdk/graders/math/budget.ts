/**
 * The work one comparison may still do, in steps of about a microsecond. Spending is counted before the work is
 * done, so the time is bounded by construction, whatever the input.
 */
export interface Budget {
  left: number;
}

/** The steps one answer may cost: some 5 ms. */
export const stepsPerAnswer = 5_000;

/** Takes steps from the budget; false where they are more than is left, and the work must not be done. */
export function spend(budget: Budget, steps: number): boolean {
  budget.left -= steps;
  return budget.left >= 0;
}
