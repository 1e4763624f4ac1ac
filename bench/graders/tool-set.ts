/** One entry of BFCL: its functions, and for each call that is wanted the values that each parameter may have. */
export type Entry = [id: string, category: string, functions: FunctionDoc[], answer: AnswerCall[]];

interface FunctionDoc {
  name: string;
  parameters: { properties: Record<string, { type: string }>; required: string[] };
}

type AnswerCall = Record<string, Record<string, unknown[]>>;

export interface PlainCall {
  name: string;
  args: Record<string, unknown>;
}

/** Calls for an entry, right or wrong by construction, and what was done to make them so. */
export interface ToolCase {
  entry: Entry;
  change: string;
  calls: PlainCall[];
  expected: boolean;
}

/** The right calls of an entry, and each mutation of them that its answer key cannot allow. */
export function toolCases(entry: Entry): ToolCase[] {
  const right = rightCalls(entry);
  const cases: ToolCase[] = [{ entry, change: "none", calls: right, expected: true }];
  if (right.length > 1)
    cases.push({ entry, change: "another order", calls: [...right].reverse(), expected: true });
  for (const [change, mutate] of Object.entries(mutations)) {
    const calls = mutate(right, entry);
    if (calls !== null) cases.push({ entry, change, calls, expected: false });
  }
  return cases;
}

/** Each call with the first value that its key lists; a parameter whose first value is "" is left out. */
function rightCalls([, , , answer]: Entry): PlainCall[] {
  return answer.map((call) => {
    const [name, parameters] = Object.entries(call)[0] as [string, Record<string, unknown[]>];
    const given = Object.entries(parameters).filter(([, values]) => values[0] !== "");
    return {
      name,
      args: Object.fromEntries(given.map(([key, values]) => [key, firstValue(values[0])])),
    };
  });
}

/** The first value of an answer key, which nests its lists in objects too. */
function firstValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(firstValue);
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.entries(value).map(
    ([key, one]) => [key, Array.isArray(one) ? firstValue(one[0]) : one] as const,
  );
  return Object.fromEntries(parts.filter(([, one]) => one !== ""));
}

type Mutation = (calls: PlainCall[], entry: Entry) => PlainCall[] | null;

/** Changes the first call, in its first parameter that the change applies to. */
function inFirst(change: (value: unknown, allowed: unknown[]) => unknown): Mutation {
  return (calls, [, , , answer]) => {
    const [first, ...rest] = calls as [PlainCall, ...PlainCall[]];
    const allowed = Object.values(answer[0] ?? {})[0] ?? {};
    for (const [key, value] of Object.entries(first.args)) {
      const changed = change(value, allowed[key] ?? []);
      if (changed === undefined || (allowed[key] ?? []).includes(changed)) continue;
      return [{ ...first, args: { ...first.args, [key]: changed } }, ...rest];
    }
    return null;
  };
}

const mutations: Record<string, Mutation> = {
  "wrong name": ([first, ...rest]) => [
    { ...(first as PlainCall), name: `${first?.name}_v2` },
    ...rest,
  ],
  "wrong text": inFirst((value) => (typeof value === "string" ? `${value} x9` : undefined)),
  "wrong number": inFirst((value) => (typeof value === "number" ? value + 7 : undefined)),
  "number as text": inFirst((value) => (typeof value === "number" ? `${value}` : undefined)),
  "flipped truth": inFirst((value, allowed) =>
    typeof value === "boolean" && !allowed.includes("") ? !value : undefined,
  ),
  "shorter list": inFirst((value) =>
    Array.isArray(value) && value.length > 1 ? value.slice(1) : undefined,
  ),
  "missing parameter": (calls, [, , functions, answer]) => {
    const [first, ...rest] = calls as [PlainCall, ...PlainCall[]];
    const required = functions.find((one) => one.name === first.name)?.parameters.required ?? [];
    const allowed = Object.values(answer[0] ?? {})[0] ?? {};
    const key = required.find((one) => one in first.args && !allowed[one]?.includes(""));
    if (key === undefined) return null;
    const { [key]: _dropped, ...args } = first.args;
    return [{ ...first, args }, ...rest];
  },
  "unknown parameter": ([first, ...rest]) => [
    { ...(first as PlainCall), args: { ...first?.args, trace_id: "t1" } },
    ...rest,
  ],
  "extra call": (calls) => [...calls, { name: "notify_user", args: {} }],
  "missing call": (calls) => (calls.length > 1 ? calls.slice(1) : null),
};

type Spelling = (calls: PlainCall[]) => string;

const block = (text: string): string => `<tool_call>\n${text}\n</tool_call>`;
const plain = ({ name, args }: PlainCall): string => JSON.stringify({ name, arguments: args });

/** Ways to write the same calls; all must grade alike. */
export const spellings: Record<string, Spelling> = {
  "a block each": (calls) => calls.map((call) => block(plain(call))).join("\n"),
  "on one line": (calls) => calls.map((call) => `<tool_call>${plain(call)}</tool_call>`).join(""),
  pretty: (calls) =>
    calls
      .map(({ name, args }) => block(JSON.stringify({ name, parameters: args }, null, 2)))
      .join("\n"),
  "one block, a line each": (calls) => block(calls.map(plain).join("\n")),
  "one block, a list": (calls) => block(`[${calls.map(plain).join(", ")}]`),
  "arguments as text": (calls) =>
    calls
      .map(({ name, args }) => block(JSON.stringify({ name, arguments: JSON.stringify(args) })))
      .join(""),
  "OpenAI's wrapper": (calls) =>
    calls.map((call) => block(`{"type": "function", "function": ${plain(call)}}`)).join(""),
  "after thinking": (calls) =>
    `<think>\n${block('{"name": "draft"}')}\n</think>\n${calls.map((call) => block(plain(call))).join("")}`,
};
