import { describe, expect, test } from "vitest";
import { accept, type Message, reject, type Seed } from "../../bridge/hooks/types.js";
import mathEnvironment from "../../examples/math/environment.js";
import {
  heldOutProblems,
  solve,
  toPrompt,
  toText,
  trainProblems,
} from "../../examples/math/problems.js";
import toolEnvironment from "../../examples/tool-calling/environment.js";
import * as requests from "../../examples/tool-calling/requests.js";
import webEnvironment from "../../examples/web-actions/environment.js";
import { toLine } from "../../examples/web-actions/line.js";
import * as pages from "../../examples/web-actions/pages.js";

type Task = { prompt: string; groundTruth: string };

const seed = (task: Task, successRate: number | null = null): Seed<Task> => ({
  id: "s",
  task,
  successRate,
});
const textOf = (messages: Message[]): string => messages.map(({ content }) => content).join("\n");
const given = { epoch: 1, targetSuccess: 0.5, random: (): number => 0 };

describe("math", () => {
  const [first] = trainProblems;
  if (!first) throw new Error("there are problems");
  const shown = seed({ prompt: first.prompt, groundTruth: first.answer });
  const parse = (answer: string): unknown => mathEnvironment.parse({ answer, seeds: [shown] });

  test.each([
    ["What is 3 + 4?", "7"],
    ["Solve for x: 2x + 3 = 10", "\\frac{7}{2}"],
    ["Solve for x: 3x + 9 = 3", "-2"],
    ["What is 1/2 + 1/3?", "\\frac{5}{6}"],
    ["What is 1/2 + 1/2?", "1"],
    ["What is 20% of 50?", "10"],
    ["What is 1/0 + 1/3?", null],
    ["What is the capital of Peru?", null],
  ])("solves %s", (text, answer) => {
    expect(solve(text)).toBe(answer);
  });

  test("shows problems with their answers and asks by the success rate", async () => {
    const messages = await mathEnvironment.prompt({
      seeds: [{ ...shown, successRate: 1 }],
      ...given,
    });
    expect(textOf(messages)).toBe(
      `Next problem:\n${toText(first.prompt)}\nAnswer: ${first.answer}\nNext problem, a little harder:`,
    );
    expect(textOf(await mathEnvironment.prompt({ seeds: [], ...given }))).toBe("Next problem:");
  });

  test("works out what it can, whatever the model claims", () => {
    const task = { prompt: toPrompt("What is 30 + 12?"), groundTruth: "42" };
    expect(parse("Problem: What is 30 + 12?\nAnswer: 41")).toEqual([accept(task)]);
    expect(parse("What is 30 + 12?")).toEqual([accept(task)]);
  });

  test("takes the model's own answer to other problems, where it is one", () => {
    const text = "A train goes 30 km in 20 minutes. How many km in an hour?";
    expect(parse(`${text}\nAnswer: 90`)).toEqual([
      accept({ prompt: toPrompt(text), groundTruth: "90" }),
    ]);
    expect(parse(text)).toEqual([reject("no-answer")]);
    expect(parse(`${text}\nAnswer: many`)).toEqual([reject("no-number")]);
  });

  test("rejects what is no new problem, with the reason", () => {
    expect(parse("")).toEqual([reject("no-problem")]);
    expect(parse("x".repeat(500))).toEqual([reject("no-problem")]);
    expect(parse(`${toText(first.prompt)}`)).toEqual([reject("copied-a-seed")]);
    expect(parse(toText(heldOutProblems[0]?.prompt ?? ""))).toEqual([reject("held-out")]);
  });
});

describe("tool calling", () => {
  const [first] = requests.trainRequests;
  if (!first) throw new Error("there are requests");
  const shown = seed({
    prompt: requests.toPrompt(first.text),
    groundTruth: JSON.stringify(first.call),
  });
  const parse = (answer: string): unknown => toolEnvironment.parse({ answer, seeds: [shown] });
  const timer = (minutes: unknown): string =>
    JSON.stringify({ name: "set_timer", arguments: { minutes } });

  test("shows the tools, and requests with their calls", async () => {
    const text = textOf(await toolEnvironment.prompt({ seeds: [shown], ...given }));
    expect(text).toContain(
      "get_weather(city: string, unit: celsius|fahrenheit): weather of a city",
    );
    expect(text).toContain("set_timer(minutes: integer): start a timer");
    expect(text).toContain(`${first.text}\n${JSON.stringify(first.call)}`);
    expect(text).toContain("right in 50% of its tries");
  });

  test("takes a request whose call its tool's schema takes", () => {
    const text = "Wake me in 90 minutes";
    const task = { prompt: requests.toPrompt(text), groundTruth: timer(90) };
    expect(parse(`Request: ${text}\n${timer(90)}`)).toEqual([accept(task)]);
    expect(parse(`${text}\n<tool_call>${timer(90)}</tool_call>`)).toEqual([accept(task)]);
  });

  test.each([
    ["no call", "no-request-and-call"],
    ["Wake me in 90 minutes\n{not json}", "no-json"],
    ['Wake me in 90 minutes\n{"minutes": 90}', "no-call"],
    ['Wake me in 90 minutes\n{"name": "toString", "arguments": {}}', "unknown-tool"],
    [`Wake me in 9000 minutes\n${timer(9000)}`, "bad-arguments"],
    [`Wake me in ninety minutes\n${timer("90")}`, "bad-arguments"],
    [`Wake me soon\n${timer(90)}`, "value-not-in-request"],
    [`${first.text}\n${JSON.stringify(first.call)}`, "copied-a-seed"],
  ])("rejects %j", (answer, reason) => {
    expect(parse(answer)).toEqual([reject(reason)]);
  });

  test("keeps what validation holds out, with some of each tool", () => {
    const [held] = requests.heldOutRequests;
    expect(parse(`${held?.text}\n${JSON.stringify(held?.call)}`)).toEqual([reject("held-out")]);
    expect(new Set(requests.heldOutRequests.map(({ call }) => call.name)).size).toBe(4);
  });
});

describe("web actions", () => {
  const [first] = pages.trainGoals;
  if (!first) throw new Error("there are goals");
  const shown = seed({ prompt: pages.toPrompt(first), groundTruth: first.action });
  const parse = (answer: string): unknown => webEnvironment.parse({ answer, seeds: [shown] });

  test("what is read from a prompt and a page is what was put there", () => {
    expect(pages.readPrompt(pages.toPrompt(first))).toEqual({ page: first.page, text: first.text });
    expect(pages.readElements(first.page)).toMatchObject([
      { bid: "11", role: "textbox", name: "Search" },
      { bid: "12", role: "link", name: "Cart" },
      { bid: "13", role: "combobox", name: "Size", options: ["small", "medium", "large"] },
      { bid: "14", role: "button", name: "Add to cart" },
    ]);
  });

  test("shows one page with goals and actions, and asks for another", async () => {
    const other = seed({
      prompt: pages.toPrompt({ page: "X", text: "y" }),
      groundTruth: "go_back()",
    });
    const text = textOf(await webEnvironment.prompt({ seeds: [shown, other], ...given }));
    expect(text).toContain(`Goal: ${first.text}\nAction: ${first.action}`);
    expect(text).toMatch(/Another goal and its action:$/);
  });

  test.each([
    ['Goal: search for jam\nAction: fill(bid="11", value="jam")', "search for jam"],
    ["Goal: see the cart\nAction: click(12)", "see the cart"],
    ['Goal: a large one\nAction: select_option(bid="13", options="large")', "a large one"],
    ["Goal: leave\nAction: go_back()", "leave"],
  ])("takes %j", (answer, text) => {
    const action = answer.split("Action: ")[1] ?? "";
    const prompt = pages.toPrompt({ page: first.page, text });
    expect(parse(answer)).toEqual([accept({ prompt, groundTruth: action })]);
  });

  test.each([
    ["a goal alone", "no-goal-and-action"],
    ["Goal: fly away\nAction: fly away", "no-action"],
    ["Goal: the exit\nAction: click(99)", "no-such-element"],
    ["Goal: the search\nAction: click(11)", "not-on-that-element"],
    ['Goal: search\nAction: fill(bid="11", value="jam")', "value-not-in-goal"],
    ['Goal: take size huge\nAction: select_option(bid="13", options="huge")', "no-such-option"],
    [`Goal: ${first.text}\nAction: ${first.action}`, "copied-a-seed"],
  ])("rejects %j", (answer, reason) => {
    expect(parse(answer)).toEqual([reject(reason)]);
  });

  test("the program prints metrics and kept tasks, and nothing else", () => {
    const at = { epoch: 2, step: 2 };
    const values = { "agent/reward_mean": 0.5, "agent/tokens": 9 };
    expect(toLine({ ...at, type: "metrics", phase: "agent", values })).toBe(
      "epoch 2: agent/reward_mean 0.500",
    );
    expect(toLine({ ...at, type: "checkpoint", path: "x" })).toBeNull();
  });
});
