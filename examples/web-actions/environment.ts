import { accept, defineEnvironment, type Message, reject } from "genenv";
import { webActions } from "genenv/graders";
import { z } from "zod";
import { type Element, readElements, readPrompt, toPrompt } from "./pages.js";

const task = z.object({ prompt: z.string(), groundTruth: z.string().regex(/^[a-z_]+\(.*\)$/) });

/** What each action is taken on; go_back needs nothing. */
const targets: Record<string, readonly Element["role"][]> = {
  click: ["button", "link"],
  fill: ["textbox"],
  select_option: ["combobox"],
};

/** Why the action can't be taken on the page, or is not what the goal asks for; null where it can. */
function problemOf(action: string, text: string, elements: readonly Element[]): string | null {
  if (webActions({ response: action, groundTruth: action }).score !== 1) return "no-action";
  if (/^go_back\(\s*\)$/.test(action)) return null;
  const [, name = "", bid = "", value] =
    /^(\w+)\((?:bid=)?"?(\d+)"?(?:,\s*(?:value=|options=)?"([^"]*)")?\)$/.exec(action) ?? [];
  const element = elements.find((one) => one.bid === bid);
  if (!element) return "no-such-element";
  if (!targets[name]?.includes(element.role)) return "not-on-that-element";
  if (name === "click") return value === undefined ? null : "no-action";
  if (value === undefined || !text.toLowerCase().includes(value.toLowerCase()))
    return "value-not-in-goal";
  return element.options && !element.options.includes(value) ? "no-such-option" : null;
}

/** Shows a page with goals and actions, and asks for another goal on the same page with its action. */
export default defineEnvironment({
  name: "web-goals",
  task,

  prompt({ seeds, random }) {
    const chosen = seeds[Math.floor(random() * seeds.length)];
    const page = chosen ? readPrompt(chosen.task.prompt).page : "";
    const same = seeds.filter((seed) => readPrompt(seed.task.prompt).page === page);
    const shown = same.flatMap(({ task }): Message[] => [
      { role: "user", content: `${page}\nA goal and its action:` },
      {
        role: "assistant",
        content: `Goal: ${readPrompt(task.prompt).text}\nAction: ${task.groundTruth}`,
      },
    ]);
    return [...shown, { role: "user", content: `${page}\nAnother goal and its action:` }];
  },

  parse({ answer, seeds }) {
    const found = /(?:Goal:\s*)?([^\n]{4,200})\n\s*Action:\s*([^\n]{3,200})/.exec(answer);
    if (!found) return [reject("no-goal-and-action")];
    const [, text = "", written = ""] = found;
    const action = written.trim();
    const pages = [...new Set(seeds.map((seed) => readPrompt(seed.task.prompt).page))];
    const problems = pages.map((page) => problemOf(action, text, readElements(page)));
    const page = pages[problems.indexOf(null)];
    if (page === undefined) return [reject(problems[0] ?? "no-page")];
    const prompt = toPrompt({ page, text });
    if (seeds.some((seed) => seed.task.prompt === prompt)) return [reject("copied-a-seed")];
    return [accept({ prompt, groundTruth: action })];
  },
});
