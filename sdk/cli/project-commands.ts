import type { Command } from "commander";
import { withColumnOptions } from "./column-options.js";
import type { DataArguments } from "./data-command.js";
import { runAction } from "./exit.js";
import type { InitArguments } from "./init-command.js";
import type { NotebookArguments } from "./notebook-command.js";

const dataExamples = `
Examples:
  genenv data train.jsonl val.jsonl --reward ./reward.ts --model builtin:smollm2-135m --max-prompt-length 256
  genenv data questions.csv --prompt-key text --ground-truth-key label --out train.parquet
  genenv data all.jsonl --out data --split 0.9 --seed 7        data/train.parquet and data/val.parquet
  genenv data big.parquet --out small.parquet --sample 1000`;

/** `genenv data`. */
export function addData(program: Command): void {
  const command = program
    .command("data")
    .description("say what data files hold and what is wrong with them; convert them")
    .argument("<file...>", "Parquet, JSONL, JSON or CSV files");
  withColumnOptions(command)
    .option(
      "--reward <reward>",
      "a reward's file or builtin:NAME; its schema has to take every ground truth",
    )
    .option("--model <model>", "count prompt tokens under this model's chat template")
    .option("--max-prompt-length <tokens>", "data.max_prompt_length: name the prompts over it")
    .option("--out <path>", "write the rows as veRL's Parquet; with --split, a folder")
    .option(
      "--split <share>",
      "this share to train.parquet, the rest to val.parquet; equal prompts stay together",
    )
    .option("--sample <rows>", "only so many rows, drawn at random")
    .option("--seed <number>", "seed of --sample and --split (default: 0)")
    .option("--drop", "leave out rows that can't be used")
    .option("--force", "write over files that are there")
    .option("--debug", "show the stack of an error")
    .option("--json", "one JSON object, for programs")
    .addHelpText("after", dataExamples)
    .action((files: string[], options: DataArguments) =>
      runAction(options, async () => {
        const { dataCommand } = await import("./data-command.js");
        return dataCommand(files, options, { output: process.stdout });
      }),
    );
}

const initExamples = `
Examples:
  genenv init my-project --template math
  genenv init                              asks for template and folder`;

/** `genenv init`. */
export function addInit(program: Command): void {
  program
    .command("init")
    .description("begin a project: reward, environment, data, configuration and a test")
    .argument("[folder]", "where (default: this folder)")
    .option("--template <name>", "arithmetic, math, tool-calling, web-actions or blank")
    .option("--debug", "show the stack of an error")
    .option("--json", "ask nothing; one JSON object, for programs")
    .addHelpText("after", initExamples)
    .action((folder: string | undefined, options: InitArguments) =>
      runAction(options, async () => {
        const [{ initCommand }, { terminalQuestions }] = await Promise.all([
          import("./init-command.js"),
          import("./questions.js"),
        ]);
        const questions = options.json ? null : terminalQuestions();
        try {
          const ask = questions?.ask ?? null;
          return await initCommand(folder, options, { output: process.stdout, ask });
        } finally {
          questions?.close();
        }
      }),
    );
}

const notebookExamples = `
Examples:
  genenv notebook                          JupyterLab in this folder
  genenv notebook notebooks --examples     begins with two notebooks: your first reward; a run, live
  genenv notebook --no-browser --port 8888`;

/** `genenv notebook`. */
export function addNotebook(program: Command): void {
  program
    .command("notebook")
    .description("start Jupyter with a TypeScript kernel; the first time, make it ready")
    .argument("[folder]", "where notebooks are (default: this folder)")
    .option("--examples", "copy the two example notebooks into the folder first")
    .option("--port <number>", "this port, and no other (default: 8888, or the next free one)")
    .option("--no-browser", "open no browser")
    .option("--setup", "only make everything ready")
    .option("--debug", "show the stack of an error")
    .option("--json", "print where everything is, as JSON")
    .addHelpText("after", notebookExamples)
    .action((folder: string | undefined, options: NotebookArguments) =>
      runAction(options, async () => {
        const { notebookCommand } = await import("./notebook-command.js");
        return notebookCommand(folder, options, { output: process.stdout });
      }),
    );
}
