/** The command lines of genenv's own in a shell block, each as the words after `genenv` (or `genenv.train`: of `run`). */
export function commandLines(block: string): string[][] {
  return block
    .replaceAll("\\\n", " ")
    .split("\n")
    .flatMap((line) => splitWords(line).flatMap(ownWords));
}

/** The words of each command in a line: quotes are taken off, a comment ends it, `&&` and `;` divide it. */
function splitWords(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [word] of line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)) {
    if (word.startsWith("#")) break;
    if (word === "&&" || word === ";" || word === "|") commands.push([]);
    else commands.at(-1)?.push(word.replaceAll(/["']/g, ""));
  }
  return commands;
}

function ownWords(words: readonly string[]): string[][] {
  const command = words.filter((word) => !/^[A-Z_]+=/.test(word));
  if (command[0] === "genenv") return [command.slice(1)];
  if (command[0] === "npx" && command[1] === "genenv") return [command.slice(2)];
  if (command[0]?.startsWith("python") && command[2] === "genenv.train") {
    return [["run", ...command.slice(3)]];
  }
  return [];
}
