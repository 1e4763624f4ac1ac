import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mulberry32 } from "../../bridge/hooks/random.js";
import { defineDataset, writeDataset } from "../../sdk/index.js";
import {
  type Band,
  bandOf,
  drawCount,
  drawTerms,
  maxTerm,
  maxTerms,
  problemsOf,
  question,
  type Split,
  splitOf,
  toText,
  workingOf,
} from "./sums.js";

/** How often the agent's lessons have 2, 3, ... terms. */
const lessonWeights = Array.from({ length: maxTerms - 1 }, () => 1);
/** How many of them are worked to the end: the longer the sum, the more often it is given up on the way. */
const finishedShares = [1, 0.95, 0.9, 0.6, 0.35, 0.15, 0.06];
/** How often the environment model learns to write 2, 3, ... terms: mostly too easy, with a thin tail. */
const writingWeights = [0.25, 0.25, 0.2, 0.13, 0.09, 0.05, 0.03];
/** And the seed data: what somebody has who wrote down easy problems and some that are not. */
const seedWeights = [0.25, 0.35, 0.32, 0.06, 0.02];
const malformedShare = 0.12;

/** Problems of each band in a validation set: 520 in all. */
const validationCounts: Record<Band, number> = { easy: 10, edge: 190, hard: 320 };

interface Lesson {
  prompt: string;
  response: string;
}

export const lessonCounts = { agent: 48_000, environment: 12_000 };

function* agentLessons(): Iterable<Lesson> {
  const random = mulberry32(1);
  for (let made = 0; made < lessonCounts.agent; ) {
    const terms = drawTerms(drawCount(lessonWeights, random), random);
    if (splitOf(toText(terms)) !== "lessons") continue;
    made++;
    yield { prompt: toText(terms), response: lessonOf(terms, random) };
  }
}

/** The working of a sum, or its beginning. */
function lessonOf(terms: readonly number[], random: () => number): string {
  const totals = workingOf(terms).split(" ");
  if (totals.length === 1 || random() < (finishedShares[terms.length - 2] ?? 0)) {
    return totals.join(" ");
  }
  return totals.slice(0, 1 + Math.floor(random() * (totals.length - 1))).join(" ");
}

function* environmentLessons(): Iterable<Lesson> {
  const random = mulberry32(2);
  for (let made = 0; made < lessonCounts.environment; ) {
    const terms = drawTerms(drawCount(writingWeights, random), random);
    if (splitOf(toText(terms)) !== "lessons") continue;
    made++;
    const malformed = random() < malformedShare;
    yield { prompt: question, response: malformed ? malform(terms, random) : toText(terms) };
  }
}

/** A sum spoilt: it ends in a plus, or a term is out of range. */
function malform(terms: readonly number[], random: () => number): string {
  if (random() < 0.5) return `${toText(terms)}+`;
  const place = Math.floor(random() * terms.length);
  return toText(terms.map((term, index) => (index === place ? maxTerm + 1 : term)));
}

/** Writes what the bench trains on and is measured with; gives a text that changes when the data does. */
export async function writeData(folder: string): Promise<string> {
  const lessons = {
    agent: [...agentLessons()],
    environment: [...environmentLessons()],
  };
  const digest = createHash("sha256");
  for (const [role, rows] of Object.entries(lessons)) {
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    digest.update(text);
    writeFileSync(join(folder, `${role}.jsonl`), text);
  }
  const random = mulberry32(3);
  const seeds = problemsOf("lessons", 160, random, () => drawCount(seedWeights, random));
  await write(seeds, join(folder, "seeds.parquet"));
  for (const split of ["development", "held-out"] as const) {
    await write(validationProblems(split), join(folder, `${split}.parquet`));
  }
  return digest.digest("hex");
}

export function validationProblems(split: Split): number[][] {
  const random = mulberry32(split === "held-out" ? 4 : 5);
  return Object.entries(validationCounts).flatMap(([band, count]) => {
    const counts = Array.from({ length: maxTerms - 1 }, (_, index) => index + 2);
    const weights = counts.map((terms) => (bandOf(terms) === band ? 1 : 0));
    return problemsOf(split, count, random, () => drawCount(weights, random));
  });
}

async function write(problems: readonly number[][], path: string): Promise<void> {
  const data = defineDataset({
    name: "sums",
    ability: "math",
    items: problems,
    toRow: (terms) => ({ prompt: toText(terms), groundTruth: workingOf(terms) }),
  });
  await writeDataset(data, path);
}
