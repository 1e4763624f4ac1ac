import { z } from "zod";
import { HOOK_BRAND, type RewardHook } from "../bridge/hooks/types.js";

/** A reward that only waits, as for a judge: as many milliseconds as the response says. */
const reward: RewardHook<z.ZodUnknown> = {
  [HOOK_BRAND]: "reward",
  name: "waiting",
  groundTruth: z.unknown(),
  uses: [],
  concurrency: 64,
  score: ({ response, signal }) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(1), Number(response));
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};

export default reward;
