export const code = (text: string): string => `\`${text}\``;

/** A Markdown table; cells are Markdown already. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/**
 * The page with the text between `<!-- generated:NAME -->` and `<!-- /generated -->` replaced by each block. Throws
 * where the page has no such place, or one that no block is for.
 */
export function fillBlocks(page: string, blocks: Readonly<Record<string, string>>): string {
  const left = new Set(Object.keys(blocks));
  const pattern = /(<!-- generated:([\w-]+) -->\n)[\s\S]*?(<!-- \/generated -->)/g;
  const filled = page.replace(pattern, (_, start: string, name: string, end: string) => {
    const block = blocks[name];
    if (block === undefined) throw new Error(`nothing is generated for the block "${name}"`);
    left.delete(name);
    return `${start}${block}\n${end}`;
  });
  if (left.size > 0) throw new Error(`the page has no block for ${[...left].join(", ")}`);
  return filled;
}
