import { unwrapGold } from "../gold.js";
import { clip } from "../show.js";
import { withoutThinking } from "../think.js";
import { type Grade, type GraderInput, right, wrong } from "../types.js";
import { actionProblem } from "./compare.js";
import { type ActionDeclarations, defaultActions } from "./declarations.js";
import { type Action, actionText, findActions } from "./parse.js";

/** The conventions of the web-action grader that a caller may choose. */
export interface WebActionsOptions {
  /** More actions, or other parameters for known ones; each name with its parameters in order. */
  actions?: ActionDeclarations;
}

const longest = 200_000;

/**
 * Scores 1 where the response takes exactly the ground truth's actions, in order. The ground truth is an action's
 * text, several in one text, a list of texts ([]: no action), or `{anyOf: [...]}` of these. The rules are in docs/graders.md.
 */
export function webActions(
  { response, groundTruth }: GraderInput,
  options: WebActionsOptions = {},
): Grade {
  if (typeof response !== "string") return wrong(null, "the response is not text");
  if (response.length > longest)
    return wrong(null, `the response is longer than ${longest} characters`);
  const declarations: ActionDeclarations = { ...defaultActions, ...options.actions };
  const golds = readGolds(groundTruth, declarations);
  if (golds === null) return wrong(null, "the ground truth is no action");
  const names = golds
    .flat()
    .map((action) => [action.name, declarations[action.name] ?? []] as const);
  const known = { ...declarations, ...Object.fromEntries(names) };
  const { actions, problem } = findActions(withoutThinking(response), known);
  const extracted = actions.length === 0 ? null : clip(actions.map(actionText).join("; "));
  if (problem !== null) return wrong(extracted, `an action cannot be read: ${problem}`);
  if (actions.length === 0) {
    if (golds.some((gold) => gold.length === 0)) return right(null, "no action, as wanted");
    return wrong(null, "no action was found outside <think>");
  }
  const problems = golds.map((gold) => sequenceProblem(actions, gold, declarations));
  return problems.includes(null)
    ? right(extracted, `took ${extracted}`)
    : wrong(extracted, problems[0] ?? "");
}

function sequenceProblem(
  given: Action[],
  wanted: Action[],
  declarations: ActionDeclarations,
): string | null {
  for (const [at, action] of given.entries()) {
    const gold = wanted[at];
    if (gold === undefined) return `${given.length} actions where ${wanted.length} are wanted`;
    const problem = actionProblem(action, gold, declarations);
    if (problem !== null) return wanted.length > 1 ? `step ${at + 1}: ${problem}` : problem;
  }
  return given.length === wanted.length
    ? null
    : `${given.length} actions where ${wanted.length} are wanted`;
}

/** The sequences that are right; null where the ground truth has none that can be read. */
function readGolds(groundTruth: unknown, declarations: ActionDeclarations): Action[][] | null {
  const value = parseList(unwrapGold(groundTruth));
  const choices =
    typeof value === "object" && value !== null && "anyOf" in value ? value.anyOf : [value];
  if (!Array.isArray(choices)) return null;
  const golds = choices.map((choice) => readSequence(choice, declarations));
  return golds.length === 0 || golds.includes(null) ? null : (golds as Action[][]);
}

function parseList(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value; // Text that only begins like a list.
  }
}

function readSequence(value: unknown, declarations: ActionDeclarations): Action[] | null {
  const texts = Array.isArray(value) ? value.map(unwrapGold) : [value];
  const actions: Action[] = [];
  for (const text of texts) {
    if (typeof text !== "string") return null;
    const found = findActions(text, { ...declarations, ...undeclared(text, declarations) });
    if (found.problem !== null || found.actions.length === 0) return null;
    actions.push(...found.actions);
  }
  return actions;
}

/** The ground truth may use an action that nobody declared: its name is then known, with keywords only. */
function undeclared(text: string, declarations: ActionDeclarations): ActionDeclarations {
  const name = /^\s*([A-Za-z_]\w{0,60})\(/.exec(text)?.[1];
  return name === undefined || Object.hasOwn(declarations, name) ? {} : { [name]: [] };
}
