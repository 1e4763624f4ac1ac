import { spawn } from "node:child_process";

/** Opens a file with the desktop's own program, where there is a desktop; true where one was asked. */
export function openFile(file: string, env: NodeJS.ProcessEnv = process.env): boolean {
  const hasDesktop =
    process.platform === "darwin" || Boolean(env.DISPLAY) || Boolean(env.WAYLAND_DISPLAY);
  if (!hasDesktop) return false;
  const command = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(command, [file], { detached: true, stdio: "ignore" });
  // Without such a program the path that was printed is enough.
  child.on("error", () => {});
  child.unref();
  return true;
}
