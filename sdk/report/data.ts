/** What the page gets: plain JSON, shared by the writer (Node) and the page (browser). */
export interface ReportData {
  /** genenv's version. */
  version: string;
  writtenMs: number;
  runs: ReportRun[];
}

export interface ReportRun {
  name: string;
  configText: string;
  /** genenv.alpha: the success rate that the curriculum aims at; null where the configuration doesn't say. */
  targetSuccess: number | null;
  metrics: ReportMetric[];
  tasks: TaskColumns;
  /** Rollouts by epoch and task, packed: see `RolloutChunk`. */
  chunks: string[];
  /** Chunks that hold the environment's answers of an epoch. */
  answerChunks: Record<string, number>;
  /** Responses whose task has no room here; they are in the run's folder. */
  rolloutsLeftOut: number;
}

export interface ReportMetric {
  epoch: number;
  step: number;
  phase: string;
  timeMs: number;
  values: Record<string, number>;
}

/** The ledger, a list a column; texts and lists that come again are kept once. */
export interface TaskColumns {
  texts: string[];
  seedLists: string[][];
  epoch: number[];
  id: (string | null)[];
  source: string[];
  parent: (string | null)[];
  /** Place in `seedLists`. */
  seeds: number[];
  writtenEpoch: number[];
  /** Place in `texts`; -1 for none. */
  prompt: number[];
  groundTruth: number[];
  answer: number[];
  reason: number[];
  successRate: (number | null)[];
  responses: number[];
  scored: number[];
  reward: (number | null)[];
  trained: boolean[];
  kept: boolean[];
  /** Place in `chunks` of its responses; -1 where they have no room. */
  chunk: number[];
}

/** What a chunk is, unpacked (base64 of gzip of JSON): rollouts by task id, or by answer id. */
export type RolloutChunk = Record<string, ReportRollout[]>;

export interface ReportRollout {
  sample: number;
  /** The messages, JSON text; only with an answer of the environment's. */
  prompt: string | null;
  response: string;
  tokens: number | null;
  score: number | null;
  success: boolean | null;
  metrics: Record<string, number>;
  failure: string | null;
  reason: string | null;
}
