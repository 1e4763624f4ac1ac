import { accept, defineEnvironment, reject } from "genenv";
import { z } from "zod";

/** Takes the digits of an answer as a task; an answer with fewer than two digits has none. */
export default defineEnvironment({
  name: "digits",
  task: z.object({ prompt: z.string(), groundTruth: z.string() }),
  prompt: ({ seeds }) => [
    { role: "user", content: `Like ${seeds.map((seed) => seed.id).join(" ")}`.slice(0, 60) },
  ],
  parse({ answer }) {
    const digits = answer.match(/\d/g) ?? [];
    if (digits.length < 2) return [reject("few-digits")];
    return [accept({ prompt: `Say ${digits.join("")}`, groundTruth: digits.join("") })];
  },
});
