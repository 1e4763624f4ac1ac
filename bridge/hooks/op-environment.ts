/** The environment hook's two ops: prompts from seeds, tasks from answers. */
import { z } from "zod";
import type { TextBatch } from "../arrow-read.js";
import { Column } from "../wire.js";
import { firstIssue, jsonOf, type Params, textOf } from "./columns.js";
import { toWireJson } from "./json.js";
import type { JsonResult, RowCall, RowResult } from "./ops.js";
import { seededRandom } from "./random.js";
import { failed, showValue, type Where } from "./result.js";
import { settle, settleAll } from "./settle.js";
import type { EnvironmentHook, Failed, Message, Seed, TaskBase } from "./types.js";

const wireSeeds = z.array(
  z.object({ id: z.string(), task: z.unknown(), successRate: z.number().nullable() }),
);
export const messagesSchema = z
  .array(z.object({ role: z.enum(["system", "user", "assistant", "tool"]), content: z.string() }))
  .min(1);

function seedsOf(hook: EnvironmentHook, batch: TextBatch): (row: number) => Seed<TaskBase>[] {
  const json = jsonOf(batch, Column.SEEDS);
  return (row) =>
    wireSeeds.parse(json(row)).map((seed) => {
      const task = z.safeParse(hook.task, seed.task);
      if (task.success) return { ...seed, task: task.data };
      throw new Error(
        `seed task ${seed.id} doesn't fit the hook's schema: ${firstIssue(task.error)}`,
      );
    });
}

export function promptCall(
  hook: EnvironmentHook,
  batch: TextBatch,
  params: Params,
  where: (row: number) => Where,
): RowCall {
  const { epoch, targetSuccess, randomSeed } = promptParams.parse(params);
  const seeds = seedsOf(hook, batch);
  return (row) => {
    const random = seededRandom(`${randomSeed}/${epoch}/${where(row).sample}`);
    const returned = hook.prompt({ seeds: seeds(row), epoch, targetSuccess, random });
    return settle(returned, (messages) => toMessages(messages, where(row)));
  };
}
const promptParams = z.object({
  epoch: z.int(),
  targetSuccess: z.number(),
  randomSeed: z.int(),
});

function toMessages(returned: unknown, where: Where): JsonResult | Failed {
  const messages = messagesSchema.safeParse(returned);
  if (messages.success) return { kind: "json", json: toWireJson(messages.data) };
  return failed(
    "bad-result",
    `${where.hook} returned ${showValue(returned)} for sample ${where.sample}: ` +
      `${firstIssue(messages.error)}; return a list of { role, content } messages`,
  );
}

export function parseCall(
  hook: EnvironmentHook,
  batch: TextBatch,
  where: (row: number) => Where,
): RowCall {
  const answer = textOf(batch, Column.ANSWER);
  const seeds = seedsOf(hook, batch);
  return (row) => {
    const returned = hook.parse({ answer: answer(row), seeds: seeds(row) });
    return settle(returned, (parts) => toParsed(hook, parts, where(row)));
  };
}

type ParsedTask =
  | { kind: "accepted"; task: unknown; messages: Message[] }
  | { kind: "rejected"; reason: string };

function toParsed(
  hook: EnvironmentHook,
  returned: unknown,
  where: Where,
): RowResult | Promise<RowResult> {
  if (!Array.isArray(returned)) {
    return failed(
      "bad-result",
      `${where.hook} returned ${showValue(returned)} for answer ${where.sample}; ` +
        "return a list of accept(task) and reject(reason)",
    );
  }
  const parts = returned.length === 0 ? [{ kind: "reject", reason: "no-task" }] : returned;
  const parsed = parts.map((part: unknown) => toParsedTask(hook, part, where));
  return settleAll(parsed, (tasks) => {
    const bad = tasks.find((task) => task.kind === "failed");
    return bad ?? { kind: "json", json: toWireJson(tasks) };
  });
}

function toParsedTask(
  hook: EnvironmentHook,
  part: unknown,
  where: Where,
): ParsedTask | Failed | Promise<ParsedTask | Failed> {
  const { kind, task, reason } = (part ?? {}) as {
    kind?: unknown;
    task?: unknown;
    reason?: unknown;
  };
  if (kind === "reject" && typeof reason === "string") return { kind: "rejected", reason };
  if (kind !== "accept") {
    return failed(
      "bad-result",
      `${where.hook} returned ${showValue(part)} in its list for answer ${where.sample}; ` +
        "every entry must be accept(task) or reject(reason)",
    );
  }
  const checked = z.safeParse(hook.task, task);
  if (!checked.success) return { kind: "rejected", reason: `schema: ${firstIssue(checked.error)}` };
  const data = checked.data;
  const messages = hook.agentPrompt ? hook.agentPrompt(data) : defaultPrompt(data);
  return settle(messages, (list) => {
    const fine = messagesSchema.safeParse(list);
    if (fine.success) return { kind: "accepted", task: data, messages: fine.data };
    return failed(
      "bad-result",
      `${where.hook}: agentPrompt returned ${showValue(list)} for answer ${where.sample}: ` +
        firstIssue(fine.error),
    );
  });
}

export function defaultPrompt(task: TaskBase): Message[] {
  return typeof task.prompt === "string" ? [{ role: "user", content: task.prompt }] : task.prompt;
}
