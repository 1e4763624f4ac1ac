/** What `run` and `check` take. */
export interface RunArguments {
  model?: string;
  envModel?: string;
  name?: string;
  debug?: boolean;
  json?: boolean;
}

/** What `export` takes. */
export interface ExportArguments {
  out: string;
  role: string;
  epoch?: string;
  debug?: boolean;
  json?: boolean;
}

/** `[CONFIG] [overrides...]`: what is no override (has no = and no + or ~ before it) is the configuration, first only. */
export function splitArguments(args: readonly string[]): {
  config: string | null;
  overrides: string[];
} {
  const [first, ...rest] = args;
  if (first === undefined || isOverride(first)) return { config: null, overrides: [...args] };
  return { config: first, overrides: rest };
}

const isOverride = (text: string): boolean => /^(\+|~)/.test(text) || text.includes("=");
