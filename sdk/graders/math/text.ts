const wrappers =
  /\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|emph|boxed|left|right|displaystyle)(?![a-zA-Z])/g;

/** Text as it is compared: lower case, one blank between words, no layout and no closing punctuation. */
export function textKey(text: string): string {
  const plain = text.replace(wrappers, " ").replace(/\\[,;:! ]|[{}$~]/g, " ");
  return stripEnds(plain.toLowerCase().replace(/\s+/g, " "));
}

const droppedEnds = " .,;:!?'\"*`()";

function stripEnds(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && droppedEnds.includes(text.charAt(start))) start += 1;
  while (end > start && droppedEnds.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** The letter of a choice that its text follows, as in "(B) 5 cm" or "B. five"; null for any other text. */
export function choiceLetter(text: string): string | null {
  const match = /^\s*\(?([A-Ja-j])[).:]/.exec(text.replace(wrappers, " ").replace(/[{}$]/g, " "));
  return match?.[1]?.toLowerCase() ?? null;
}

/** The text without the blanks that mean nothing: two answers that are written alike are equal, whatever they mean. */
export function writtenKey(text: string): string {
  const plain = text.replace(/\\(?:left|right|displaystyle|,|;|!|:)(?![a-zA-Z])|\$/g, " ");
  return plain
    .replace(/\s+/g, " ")
    .replace(/ ?([^a-zA-Z0-9 ]) ?/g, "$1")
    .trim();
}
