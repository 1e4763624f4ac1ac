import type { Command } from "commander";
import { createProgram } from "../../sdk/cli/program.js";

const columns = 110;

/** The help of every command, as `genenv COMMAND --help` prints it on a wide terminal. */
export function cliHelp(): string {
  const program = createProgram();
  return [program, ...program.commands].map((command) => section(command, program)).join("\n\n");
}

function section(command: Command, program: Command): string {
  const title = command === program ? "genenv" : `genenv ${command.name()}`;
  return `## ${title}\n\n\`\`\`text\n${helpText(command).trimEnd()}\n\`\`\``;
}

/** With what stands after the options, such as examples. */
function helpText(command: Command): string {
  let text = "";
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
    getOutHelpWidth: () => columns,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text;
}
