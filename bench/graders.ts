import { math, toolCalls, webActions } from "../sdk/graders/index.js";
import { type MathCase, mathSet } from "./graders/math-set.js";
import { answersPerSecond, hostileTimes } from "./graders/speed.js";
import { type Entry, spellings, type ToolCase, toolCases } from "./graders/tool-set.js";
import { bfcl, mathVerify, peerPython, run } from "./peer.js";

/** What one grader and its peer said of one set. */
interface Comparison {
  cases: number;
  /** The share on which both gave the same verdict. */
  agreement: number;
  oursRight: number;
  theirsRight: number;
  oursPerSecond: number;
  theirsPerSecond: number;
  ratio: number;
  disagreements: Disagreement[];
}

interface Disagreement {
  kind: string;
  what: string;
  right: "ours" | "theirs";
  ours: boolean;
  theirs: boolean;
  reason: string;
}

interface Verdicts<Verdict> {
  verdicts: Verdict[];
  seconds: number;
}

function peerRun<Verdict>(
  root: string,
  python: string,
  script: string,
  args: string[],
  cases: unknown[],
): Verdicts<Verdict> {
  const input = cases.map((one) => JSON.stringify(one)).join("\n");
  return JSON.parse(
    run(python, [`${root}bench/graders/${script}`, ...args], input),
  ) as Verdicts<Verdict>;
}

function summarise(
  expected: boolean[],
  ours: boolean[],
  theirs: boolean[],
  speeds: { ours: number; theirs: number },
  describe: (at: number) => { kind: string; what: string; reason: string },
): Comparison {
  const disagreements: Disagreement[] = [];
  for (const [at, verdict] of ours.entries()) {
    if (verdict === theirs[at]) continue;
    const right = verdict === expected[at] ? "ours" : "theirs";
    disagreements.push({ ...describe(at), right, ours: verdict, theirs: theirs[at] as boolean });
  }
  const share = (verdicts: boolean[]): number =>
    verdicts.filter((verdict, at) => verdict === expected[at]).length / expected.length;
  return {
    cases: expected.length,
    agreement: 1 - disagreements.length / expected.length,
    oursRight: share(ours),
    theirsRight: share(theirs),
    oursPerSecond: speeds.ours,
    theirsPerSecond: Math.round(speeds.theirs),
    ratio: Math.round((10 * speeds.ours) / speeds.theirs) / 10,
    disagreements,
  };
}

function compareMath(root: string, cases: MathCase[]): Comparison {
  const grades = cases.map(({ response, gold }) => math({ response, groundTruth: gold }));
  const peer = peerRun<boolean>(root, peerPython(mathVerify), "math_peer.py", [], cases);
  const ours = answersPerSecond(cases, ({ response, gold }) =>
    math({ response, groundTruth: gold }),
  );
  return summarise(
    cases.map((one) => one.expected),
    grades.map((grade) => grade.score === 1),
    peer.verdicts,
    { ours, theirs: cases.length / peer.seconds },
    (at) => {
      const { kind, response, gold } = cases[at] as MathCase;
      const answer = response.slice(response.indexOf("\\boxed"));
      return { kind, what: `${answer} beside ${gold}`, reason: grades[at]?.reason ?? "" };
    },
  );
}

function gradeTools(
  one: ToolCase,
  spelling: (calls: ToolCase["calls"]) => string,
): ReturnType<typeof toolCalls> {
  return toolCalls(
    { response: spelling(one.calls), groundTruth: one.entry[3] },
    { strings: "loose" },
  );
}

function compareTools(root: string): { comparison: Comparison; spellings: Record<string, number> } {
  const python = peerPython(bfcl);
  const data = run(python, [`${root}bench/graders/bfcl_peer.py`, "data"]);
  const entries = data
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Entry);
  const cases = entries.flatMap(toolCases);
  const first = spellings["a block each"] as (calls: ToolCase["calls"]) => string;
  const grades = cases.map((one) => gradeTools(one, first));
  const asked = cases.map(({ entry, calls }) => [
    entry[2],
    JSON.stringify(calls.map(({ name, args }) => ({ [name]: args }))),
    entry[3],
    entry[1],
  ]);
  const peer = peerRun<[boolean, string]>(root, python, "bfcl_peer.py", ["check"], asked);
  const written = cases.map((one) => ({ response: first(one.calls), groundTruth: one.entry[3] }));
  const ours = answersPerSecond(written, (input) => toolCalls(input, { strings: "loose" }));
  const comparison = summarise(
    cases.map((one) => one.expected),
    grades.map((grade) => grade.score === 1),
    peer.verdicts.map(([valid]) => valid),
    { ours, theirs: cases.length / peer.seconds },
    (at) => ({
      kind: `${cases[at]?.entry[0]}, ${cases[at]?.change}`,
      what: JSON.stringify(cases[at]?.calls).slice(0, 300),
      reason: `${grades[at]?.reason}; theirs: ${peer.verdicts[at]?.[1]}`,
    }),
  );
  return {
    comparison,
    spellings: Object.fromEntries(
      Object.entries(spellings).map(([name, spelling]) => [
        name,
        sameShare(cases, grades, spelling),
      ]),
    ),
  };
}

/** The share of cases that one spelling grades as the first one does. */
function sameShare(
  cases: ToolCase[],
  grades: { score: number }[],
  spelling: (calls: ToolCase["calls"]) => string,
): number {
  return (
    cases.filter((one, at) => gradeTools(one, spelling).score === grades[at]?.score).length /
    cases.length
  );
}

const bounds = { perSecond: 20_000, hostileMs: 50 };
const common = "math, common answers";

/** Answers a second on what most responses look like. */
function commonSpeeds(): Record<typeof common, number> & Record<string, number> {
  const cases = mathSet(3, 11);
  const simple = new Set([
    "integer",
    "thousands",
    "fraction",
    "decimal",
    "percent",
    "money",
    "choice",
    "units",
    "equation",
  ]);
  const usual = cases.filter((one) => simple.has(one.kind));
  const prose = "First we note that the terms cancel, and so on. ".repeat(40);
  const grade = ({ response, gold }: MathCase): unknown => math({ response, groundTruth: gold });
  const call = {
    response: '<tool_call>\n{"name": "f", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>',
    groundTruth: { name: "f", parameters: { city: "Paris", days: 3 } },
  };
  const action = {
    response: 'I do it. type(bid=205, value="green tea", press_enter=True)',
    groundTruth: "type(bid=205, value=green tea, press_enter=True)",
  };
  return {
    [common]: answersPerSecond(usual, grade),
    "math, common answers after 2,000 characters": answersPerSecond(
      usual.map((one) => ({ ...one, response: prose + one.response })),
      grade,
    ),
    "math, every kind": answersPerSecond(cases, grade),
    toolCalls: answersPerSecond([call], (input) => toolCalls(input)),
    webActions: answersPerSecond([action], (input) => webActions(input)),
  };
}

function print(title: string, comparison: Comparison): void {
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  console.log(`\n${title}: ${comparison.cases} cases`);
  console.log(
    `  agreement ${percent(comparison.agreement)}, right by construction: ours ${percent(comparison.oursRight)}, theirs ${percent(comparison.theirsRight)}`,
  );
  console.log(
    `  answers a second: ours ${comparison.oursPerSecond}, theirs ${comparison.theirsPerSecond}, ratio ${comparison.ratio}`,
  );
  for (const one of comparison.disagreements) {
    console.log(
      `  ${one.right} right (ours ${one.ours}, theirs ${one.theirs}) ${one.kind}: ${one.what}\n      ${one.reason}`,
    );
  }
}

/** npm run bench:graders [-- --json]: speeds, hostile answers, and both peers. Returns the exit code. */
export function main(args: string[], root: string): number {
  const speeds = commonSpeeds();
  const hostile = hostileTimes(math);
  const ours = compareMath(root, mathSet(12, 7));
  const { comparison, spellings: alike } = compareTools(root);
  if (args.includes("--json")) {
    const slowestMs = Math.max(...Object.values(hostile).map(({ firstMs }) => firstMs));
    const lines = [
      { name: "math-over-math-verify", ...ours },
      { name: "tool-calls-over-bfcl-eval", ...comparison, spellings: alike },
      // The two that have no peer are held against their own bounds.
      { name: "answers-per-second-over-bound", ratio: speeds[common] / bounds.perSecond, speeds },
      { name: "bound-over-slowest-hostile-answer", ratio: bounds.hostileMs / slowestMs, hostile },
    ];
    for (const line of lines) console.log(JSON.stringify(line));
    return 0;
  }
  console.log("answers a second, one core");
  for (const [name, speed] of Object.entries(speeds)) console.log(`  ${name}: ${speed}`);
  console.log("milliseconds for hostile answers: first time, median");
  for (const [name, { firstMs, medianMs }] of Object.entries(hostile))
    console.log(`  ${name}: ${firstMs}, ${medianMs}`);
  print("math beside math-verify 0.9.0", ours);
  print("toolCalls beside bfcl-eval's AST checker", comparison);
  for (const [name, share] of Object.entries(alike))
    console.log(`  spelling "${name}": ${(100 * share).toFixed(2)} % graded alike`);
  return 0;
}
