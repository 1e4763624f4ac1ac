import type { Failed } from "./types.js";

/** What a host tells its owner while it runs. */
export type HookHostEvent =
  | { type: "log"; message: string }
  | { type: "warning"; code: string; message: string };

/** The first failure of a kind, with the hook's own file and line where it has them. */
export function failureEvent({ code, reason }: Failed): HookHostEvent {
  return { type: "warning", code: `hook-${code}`, message: reason };
}
