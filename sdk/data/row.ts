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

export interface Layout {
  /** Column of the prompt. */
  prompt: string;
  /** Column of the ground truth; `reward_model.ground_truth` in veRL's own layout. */
  groundTruth: string;
}

const promptColumns = ["prompt", "question"];
const flatTruths = ["ground_truth", "answer"];
const modalities = ["images", "image", "videos", "video", "audios", "audio"];
const roles = new Set(["system", "user", "assistant", "tool"]);

type Raw = Record<string, unknown>;

/** Columns by name, where a file has none of the usual ones. */
export interface ColumnNames {
  promptKey?: string;
  groundTruthKey?: string;
}

/** Which columns hold prompt and ground truth; null in place of one that is missing. */
export function findLayout(
  columns: readonly string[],
  { promptKey = "prompt", groundTruthKey }: ColumnNames = {},
): { prompt: string | null; groundTruth: string | null } {
  const has = (name: string): boolean => columns.includes(name);
  const usual = has("reward_model") ? "reward_model.ground_truth" : flatTruths.find(has);
  const named = groundTruthKey !== undefined && has(groundTruthKey) ? groundTruthKey : undefined;
  return {
    prompt: [promptKey, ...promptColumns].find(has) ?? null,
    groundTruth: named ?? usual ?? null,
  };
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
  const prompt = toMessages(raw[layout.prompt]);
  if (typeof prompt === "string") return fail(layout.prompt, prompt);
  const groundTruth = truthOf(raw, layout);
  if (groundTruth === null || groundTruth === undefined)
    return fail(layout.groundTruth, "is empty");
  const extra = raw.extra_info;
  return {
    prompt,
    groundTruth,
    dataSource: textOrNull(raw.data_source),
    ability: textOrNull(raw.ability),
    extra: isRecord(extra) ? extra : {},
  };
}

export function isProblem(row: DataRow | RowProblem): row is RowProblem {
  return "problem" in row;
}

function truthOf(raw: Raw, layout: Layout): unknown {
  if (layout.groundTruth !== "reward_model.ground_truth") return raw[layout.groundTruth];
  return isRecord(raw.reward_model) ? raw.reward_model.ground_truth : undefined;
}

/** The messages of a prompt, or what is wrong with it. */
function toMessages(value: unknown): Message[] | string {
  if (typeof value === "string") {
    return value.trim() === "" ? "is empty" : [{ role: "user", content: value }];
  }
  if (value === null || value === undefined) return "is empty";
  if (!Array.isArray(value)) return `is ${typeof value}; it takes a text or a list of messages`;
  if (value.length === 0) return "is an empty list of messages";
  const problem = value.map(messageProblem).find((text) => text !== null);
  if (problem) return problem;
  return value.map((message: Message) => ({ role: message.role, content: message.content }));
}

function messageProblem(message: unknown): string | null {
  if (!isRecord(message)) return "holds a message that is not {role, content}";
  if (!roles.has(String(message.role))) {
    return `has the role ${JSON.stringify(message.role ?? null)}; roles are ${[...roles].join(", ")}`;
  }
  if (Array.isArray(message.content)) {
    return "has a message made of parts (images, video or sound); genenv trains on text only";
  }
  return typeof message.content === "string" ? null : "has a message whose content is not a text";
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
