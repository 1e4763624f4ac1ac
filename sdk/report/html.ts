import { createHash } from "node:crypto";
import type { ReportData } from "./data.js";

export interface PageParts {
  script: string;
  style: string;
}

/** The whole page. The data is JSON in a script element that no browser runs; only the page's own script may run. */
export function toHtml(data: ReportData, { script, style }: PageParts): string {
  const title = `genenv: ${data.runs.map((run) => run.name).join(", ")}`;
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    // The charts carry a style element each.
    "style-src 'unsafe-inline'",
    "img-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${toHtmlText(title)}</title>
<style>${style}</style>
</head>
<body>
<noscript>This report draws its charts and tables with JavaScript, which is off here.</noscript>
<div id="page"></div>
<script type="application/json" id="data">${toScriptJson(data)}</script>
<script>${script}</script>
</body>
</html>
`;
}

/** JSON that can't end the script element it stands in, and reads as JavaScript too. */
export function toScriptJson(value: unknown): string {
  const escapes: Record<string, string> = {
    "<": "\\u003c",
    ">": "\\u003e",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
  };
  return JSON.stringify(value).replace(/[<>\u2028\u2029]/g, (char) => escapes[char] ?? char);
}

const toHtmlText = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
