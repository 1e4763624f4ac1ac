/** Tells when a hook file, or a file that it is made of, is saved. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { context, type Plugin } from "esbuild";
import { hookBuild } from "./bundle.js";

export type HookWatch = { close(): Promise<void> };

/**
 * Calls `onSave` after each save of the hook's file, of a project file that it imports, or of one of `others`, until it
 * is closed. esbuild is the watcher: it knows what the hook imports, also after a save that doesn't compile.
 */
export async function watchHook(
  file: string,
  options: { projectDir: string; others: readonly string[]; onSave: () => void },
): Promise<HookWatch> {
  const source = resolve(options.projectDir, file);
  const settings = hookBuild(source, dirname(source));
  let builds = 0;
  const report: Plugin = {
    name: "genenv-watch",
    setup({ onEnd, onResolve }) {
      onResolve({ filter: /./ }, ({ kind, path }) =>
        kind === "entry-point" ? { path, watchFiles: options.others.filter(existsSync) } : null,
      );
      onEnd(() => {
        // The first is the build that only finds out what there is to watch.
        if (builds++ > 0) options.onSave();
      });
    },
  };
  const watcher = await context({ ...settings, plugins: [report, ...(settings.plugins ?? [])] });
  await watcher.watch();
  return { close: () => watcher.dispose() };
}
