import { Op } from "../wire.js";
import type { HookInfo } from "./load.js";

/** How messages call the hook behind an op. */
export function hookName(op: Op, info: HookInfo): string {
  if (op === Op.SCORE) return `reward "${info.reward ?? "none"}"`;
  if (op === Op.PROMPTS) return `environment "${info.environment ?? "none"}" (prompt)`;
  if (op === Op.PARSE) return `environment "${info.environment ?? "none"}" (parse)`;
  if (op === Op.SELECT) return `curriculum "${info.curriculum ?? "none"}"`;
  if (op === Op.LABEL) return `reward "${info.reward ?? "none"}" (extract)`;
  return "the environment reward";
}
