import { verlDefault } from "../config/keys.js";
import type { ResolvedConfig } from "../config/resolve.js";
import { getAt } from "../config/tree.js";

/** trainer.total_epochs: as written, else veRL's own default. */
export function totalEpochs({ verl }: ResolvedConfig): number {
  const written = getAt(verl.agent, ["trainer", "total_epochs"]);
  return Number(written ?? verlDefault("trainer.total_epochs"));
}
