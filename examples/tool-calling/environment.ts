import { accept, defineEnvironment, type Message, reject } from "genenv";
import { z } from "zod";
import { isHeldOut, toPrompt, toText } from "./requests.js";
import { goldCall } from "./reward.js";
import { type Call, describeTools, readCall } from "./tools.js";

const task = z.object({ prompt: z.string(), groundTruth: goldCall });

/** True where each value of the call can be found in the request: else nobody could know it. */
function isGrounded({ arguments: values }: Call, request: string): boolean {
  const text = request.toLowerCase();
  return Object.values(values).every((value) => text.includes(String(value).toLowerCase()));
}

/** Asks for a user's request with the call that answers it, and takes only calls that a tool's schema takes. */
export default defineEnvironment({
  name: "tool-requests",
  task,

  prompt({ seeds, targetSuccess }) {
    const percent = Math.round(targetSuccess * 100);
    const shown = seeds.flatMap(({ task }): Message[] => [
      { role: "user", content: "Next request and its call:" },
      { role: "assistant", content: `${toText(task.prompt)}\n${task.groundTruth}` },
    ]);
    const [first, ...rest] = [
      ...shown,
      { role: "user" as const, content: "Next request and its call:" },
    ];
    const wish = `Write requests that an assistant with these tools gets right in ${percent}% of its tries.`;
    const opening = `Tools:\n${describeTools()}\n${wish}\n\n${first?.content}`;
    return [{ role: "user", content: opening }, ...rest];
  },

  parse({ answer, seeds }) {
    const found = /^(?:Request:\s*)?([^\n{]{4,300}?)\s*\n\s*(?:<tool_call>)?\s*(\{.{2,400}\})/.exec(
      answer.trim(),
    );
    const [, text = "", json = ""] = found ?? [];
    if (!found) return [reject("no-request-and-call")];
    const call = readCall(json);
    if ("problem" in call) return [reject(call.problem)];
    if (!isGrounded(call, text)) return [reject("value-not-in-request")];
    if (isHeldOut(text)) return [reject("held-out")];
    const prompt = toPrompt(text);
    if (seeds.some((seed) => seed.task.prompt === prompt)) return [reject("copied-a-seed")];
    return [accept({ prompt, groundTruth: JSON.stringify(call) })];
  },
});
