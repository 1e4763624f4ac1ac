import { z } from "zod";
import type { RewardResult } from "../../bridge/hooks/types.js";

/** A reward's result as Python and result files have it. */
export const rewardResultSchema: z.ZodType<RewardResult> = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("score"),
    value: z.number(),
    success: z.boolean().nullable(),
    metrics: z.record(z.string(), z.number()),
  }),
  z.object({ kind: z.literal("abstain"), reason: z.string() }),
  z.object({
    kind: z.literal("failed"),
    code: z.enum(["timeout", "out-of-memory", "crashed", "threw", "bad-result"]),
    reason: z.string(),
  }),
]);
