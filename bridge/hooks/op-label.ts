/** A label for a task without a ground truth: a vote of the answers in its responses. */
import { z } from "zod";
import type { TextBatch } from "../arrow-read.js";
import { Column } from "../wire.js";
import { jsonOf, type Params } from "./columns.js";
import { toWireJson } from "./json.js";
import type { MajorityLabel, RowCall } from "./ops.js";
import { failed, showValue, type Where } from "./result.js";
import type { RewardHook } from "./types.js";

const labelParams = z.object({ minAgreement: z.number() });
const wireResponses = z.array(z.string());

export function labelCall(
  hook: RewardHook,
  extract: NonNullable<RewardHook["extract"]>,
  majorityLabel: MajorityLabel,
  batch: TextBatch,
  params: Params,
  where: (row: number) => Where,
): RowCall {
  const { minAgreement } = labelParams.parse(params);
  const responses = jsonOf(batch, Column.RESPONSES);
  return (row) => {
    const answers: (string | null)[] = [];
    for (const response of wireResponses.parse(responses(row))) {
      const answer: unknown = extract.call(hook, response);
      if (answer !== null && typeof answer !== "string") {
        return failed(
          "bad-result",
          `${where(row).hook} returned ${showValue(answer)} for ${showValue(response)}; return a text or null`,
        );
      }
      answers.push(answer);
    }
    return { kind: "json", json: toWireJson(majorityLabel(answers, minAgreement)) };
  };
}
