import type { Message } from "../../bridge/hooks/types.js";

/** A row of a data file as genenv uses it, whatever the file's layout. */
export interface DataRow {
  prompt: Message[];
  groundTruth: unknown;
  dataSource: string | null;
  ability: string | null;
  /** The row's `extra_info`. */
  extra: Record<string, unknown>;
}

/** What is wrong with a row: counted from 1, with the column as the file names it. */
export interface RowProblem {
  row: number;
  column: string;
  problem: string;
}

/** Where a row's parts are: columns, or fields within them (`reward_model.ground_truth`). */
export interface Layout {
  prompt: string;
  groundTruth: string;
  dataSource: string;
  /** Further columns that go to `extra`, under their own names. */
  extra: readonly string[];
}

const promptColumns = ["prompt", "question"];
const flatTruths = ["ground_truth", "answer"];
const modalities = ["images", "image", "videos", "video", "audios", "audio"];
const roles = new Set(["system", "user", "assistant", "tool"]);

type Raw = Record<string, unknown>;

/**
 * Columns by name, each a column or a field within one (`meta.answer`). A column that is named has to be there; what
 * isn't named is looked for under the usual names.
 */
export interface ColumnNames {
  promptKey?: string | undefined;
  groundTruthKey?: string | undefined;
  dataSourceKey?: string | undefined;
  extraKeys?: readonly string[] | undefined;
}

/** Which columns hold what; null in place of one that is missing. */
export function findLayout(
  columns: readonly string[],
  { promptKey, groundTruthKey, dataSourceKey, extraKeys = [] }: ColumnNames = {},
): { [part in keyof Layout]: Layout[part] | null } {
  const has = (name: string): boolean =>
    columns.includes(name) || columns.includes(name.split(".")[0] ?? "");
  const named = (name: string): string | null => (has(name) ? name : null);
  const usualTruth = has("reward_model") ? "reward_model.ground_truth" : flatTruths.find(has);
  return {
    prompt: promptKey === undefined ? (promptColumns.find(has) ?? null) : named(promptKey),
    groundTruth: groundTruthKey === undefined ? (usualTruth ?? null) : named(groundTruthKey),
    dataSource: dataSourceKey === undefined ? "data_source" : named(dataSourceKey),
    extra: extraKeys.every(has) ? extraKeys : null,
  };
}

/** The value of a column, or of a field within one; undefined where there is none. */
function valueAt(raw: Raw, name: string): unknown {
  if (Object.hasOwn(raw, name)) return raw[name];
  let value: unknown = raw;
  for (const key of name.split(".")) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** A raw row in genenv's form, or the first thing that is wrong with it. `index` counts from 0. */
export function toDataRow(raw: Raw, layout: Layout, index: number): DataRow | RowProblem {
  const fail = (column: string, problem: string): RowProblem => ({
    row: index + 1,
    column,
    problem,
  });
  const modality = modalities.find((column) => isFilled(raw[column]));
  if (modality) return fail(modality, "holds images, video or sound; genenv trains on text only");
  const prompt = toMessages(valueAt(raw, layout.prompt));
  if (typeof prompt === "string") return fail(layout.prompt, prompt);
  const groundTruth = valueAt(raw, layout.groundTruth);
  if (groundTruth === null || groundTruth === undefined)
    return fail(layout.groundTruth, "is empty");
  const own = isRecord(raw.extra_info) ? raw.extra_info : {};
  const named = layout.extra.map((name) => [name, valueAt(raw, name) ?? null] as const);
  return {
    prompt,
    groundTruth,
    dataSource: textOrNull(valueAt(raw, layout.dataSource)),
    ability: textOrNull(raw.ability),
    extra: named.length === 0 ? own : { ...own, ...Object.fromEntries(named) },
  };
}

/** The prompt of a row in the named column, or in `prompt` or `question`; or what is wrong with it. */
export function toPrompt(raw: Raw, promptKey?: string): Message[] | Omit<RowProblem, "row"> {
  const column = findLayout(Object.keys(raw), { promptKey }).prompt;
  if (column === null) {
    const others = promptKey === undefined ? ", nor is question" : "";
    return { column: promptKey ?? "prompt", problem: `is not there${others}` };
  }
  const prompt = toMessages(valueAt(raw, column));
  return typeof prompt === "string" ? { column, problem: prompt } : prompt;
}

export function isProblem(row: DataRow | RowProblem): row is RowProblem {
  return "problem" in row;
}

/** The messages of a prompt, or what is wrong with it. */
export function toMessages(value: unknown): Message[] | string {
  if (typeof value === "string") {
    return value.trim() === "" ? "is empty" : [{ role: "user", content: value }];
  }
  if (value === null || value === undefined) return "is empty";
  if (!Array.isArray(value)) return `is ${typeof value}; it takes a text or a list of messages`;
  if (value.length === 0) return "is an empty list of messages";
  const problem = value.map(messageProblem).find((text) => text !== null);
  if (problem) return problem;
  return value.map(
    ({ role, content }: { role: Message["role"]; content: string | TextPart[] }) => ({
      role,
      content: typeof content === "string" ? content : content.map(({ text }) => text).join(""),
    }),
  );
}

interface TextPart {
  type: "text";
  text: string;
}

function messageProblem(message: unknown): string | null {
  if (!isRecord(message)) return "holds a message that is not {role, content}";
  if (!roles.has(String(message.role))) {
    return `has the role ${JSON.stringify(message.role ?? null)}; roles are ${[...roles].join(", ")}`;
  }
  const { content } = message;
  if (typeof content === "string") return null;
  if (!Array.isArray(content)) return "has a message whose content is not a text";
  if (content.length === 0) return "has a message with an empty list of parts";
  const other = content.find((part) => !isTextPart(part));
  if (other === undefined) return null;
  const kind = isRecord(other) ? `the type ${JSON.stringify(other.type ?? null)}` : "no type";
  return `has a message with a part of ${kind}; genenv trains on text only`;
}

function isTextPart(part: unknown): part is TextPart {
  return isRecord(part) && part.type === "text" && typeof part.text === "string";
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
