import { accept, defineEnvironment, reject } from "genenv";
import { z } from "zod";

/** How the environment model is asked for tasks, and how its answers are read. Write your own here. */
export default defineEnvironment({
  name: "my-environment",
  task: z.object({ prompt: z.string(), groundTruth: z.string() }),

  prompt({ seeds }) {
    const shown = seeds.map(({ task }) => `Task: ${task.prompt}\nAnswer: ${task.groundTruth}`);
    return [
      { role: "user", content: `${shown.join("\n\n")}\n\nWrite one more task, in the same form.` },
    ];
  },

  parse({ answer }) {
    const [, prompt, groundTruth] = /Task:\s*(.+)\nAnswer:\s*(.+)/.exec(answer) ?? [];
    if (!prompt || !groundTruth) return [reject("no-task-and-answer")];
    return [accept({ prompt, groundTruth })];
  },
});
