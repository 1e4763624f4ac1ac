import { contains } from "./contains.js";
import { exact } from "./exact.js";
import { f1 } from "./f1.js";
import { jsonSchema } from "./json-schema.js";
import { math } from "./math/math.js";
import { numeric } from "./numeric.js";
import { regex } from "./regex.js";
import { toolCalls } from "./tool-calls/tool-calls.js";
import type { Grade, GraderInput } from "./types.js";
import { webActions } from "./web-actions/web-actions.js";

/** The graders that `builtin:NAME` names, with their default conventions. */
export const builtinGraders = {
  math,
  toolCalls,
  webActions,
  exact,
  numeric,
  regex,
  jsonSchema,
  contains,
  f1,
} satisfies Record<string, (input: GraderInput) => Grade>;

/** A name that stands after `builtin:`. */
export type BuiltinGraderName = keyof typeof builtinGraders;
