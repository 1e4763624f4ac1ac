import { PythonError } from "../errors.js";

/** True where uv's or pip's words say that a server could not be reached. */
export function isNetworkFailure(text: string): boolean {
  return /dns error|error sending request|failed to fetch|connection (refused|reset|timed out|error)|network is unreachable|name resolution|tls handshake|NewConnectionError|Max retries exceeded|operation timed out|ReadTimeout|ProxyError/i.test(
    text,
  );
}

export function isDiskFull(text: string): boolean {
  return /no space left on device|os error 28|disk quota exceeded/i.test(text);
}

/** "setup-network": what could not be downloaded, the cause in the tool's words, what to do next. */
export function networkError(what: string, output: string): PythonError {
  return new PythonError(`could not download ${what}: ${rootCause(output)}`, {
    code: "setup-network",
    hint: "check the network (HTTPS_PROXY, and PIP_INDEX_URL or PIP_FIND_LINKS for a mirror), then run genenv setup again: it goes on where it stopped",
  });
}

/** The last non-empty lines of a tool's output, on one line. */
export function lastLines(text: string, count: number): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter(Boolean).slice(-count).join("; ");
}

// uv prints the chain of causes, the innermost last: the address and that one say the most.
function rootCause(output: string): string {
  const lines = output
    .split("\n")
    .map((line) => line.trim().replace(/^(cause|caused by|error): */i, ""));
  const address = lines.find((line) => /failed to fetch/i.test(line));
  const last = lines.filter((line) => /\S/.test(line) && !line.startsWith("hint:")).at(-1);
  const parts = [address, last === address ? undefined : last].filter(Boolean);
  return parts.join(" - ") || "no reason given";
}
