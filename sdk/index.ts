export {
  ConfigError,
  DataError,
  type ErrorPlace,
  formatError,
  GenEnvError,
  type GenEnvErrorOptions,
  HookError,
  PythonError,
  WorkerError,
} from "../bridge/errors.js";
export {
  type Abstain,
  type Accept,
  abstain,
  accept,
  type CurriculumHook,
  type Decision,
  type EnvironmentHook,
  type Failed,
  type FailureCode,
  type FilteringMode,
  type Graded,
  type Grader,
  type Message,
  type ParseReturn,
  type PromptInput,
  type Reject,
  type RewardColumn,
  type RewardColumns,
  type RewardHook,
  type RewardInput,
  type RewardResult,
  type RewardReturn,
  type Role,
  reject,
  type Score,
  type Seed,
  type SelectInput,
  score,
  type TaskBase,
  type TriedTask,
} from "../bridge/hooks/types.js";
export {
  allOf,
  firstOf,
  type RewardPart,
  type RewardParts,
  weighted,
  withTimeout,
} from "./compose.js";
export type { HookRole } from "./config/parts.js";
export { type ConfigRequest, loadConfig, type ResolvedConfig } from "./config/resolve.js";
export type { ConfigInput, GenenvConfig, GenenvConfigInput } from "./config/schema.js";
export { type Dataset, type DatasetRow, type DatasetRows, defineDataset } from "./data/define.js";
export { type DataFile, readDataFile } from "./data/read.js";
export type { ColumnNames, DataRow } from "./data/row.js";
export { writeDataset } from "./data/write.js";
export {
  type CurriculumDefinition,
  defineCurriculum,
  defineEnvironment,
  defineReward,
  type EnvironmentDefinition,
  type RewardDefinition,
} from "./define.js";
export { compareReports } from "./eval/compare.js";
export type { Estimate, PairedTest } from "./eval/statistics.js";
export type {
  EvalComparison,
  EvalFigures,
  EvalOptions,
  EvalProgress,
  EvalReport,
  ProblemReport,
} from "./eval/types.js";
export { type EvaluateOptions, evaluate } from "./evaluate.js";
export { type ExportedModel, type ExportOptions, exportModel } from "./export.js";
export { type GenerateOptions, generate } from "./generate.js";
export {
  type LoadedRun,
  loadRun,
  type RunMetric,
  type RunRollout,
  type RunTask,
} from "./load-run.js";
export type { RunEvent, RunPhase, RunResult } from "./run/events.js";
export type { GivenHooks } from "./run/hook-modules.js";
export { type ResumeOptions, type Run, resume, type TrainOptions, train } from "./run.js";
export type { SessionOptions } from "./session/engine.js";
export type { Generated, SessionStatus } from "./session/messages.js";
export type { Sampling, SamplingInput, SessionConfig } from "./session/settings.js";
export { type GenerateRequest, openSession, type Prompt, type Session } from "./session.js";
