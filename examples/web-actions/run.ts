// The example as a program: `npx genenv run` is not the only way to start a run.
import { train } from "genenv";
import environment from "./environment.js";
import { toLine } from "./line.js";
import reward from "./reward.js";

/** Trains as the configuration says, with the hooks of this program, and prints what happens. */
async function main([
  config = "examples/web-actions/cpu.yaml",
  ...overrides
]: string[]): Promise<void> {
  const run = train(config, { overrides, hooks: { reward, environment } });
  process.once("SIGINT", () => void run.stop());
  for await (const event of run) {
    const line = toLine(event);
    if (line !== null) console.log(line);
  }
  const { epochs, checkpoint } = await run.result;
  console.log(`${epochs} epochs, saved in ${checkpoint}`);
}

await main(process.argv.slice(2));
