/** Tells when a hook file, or a file that it is made of, is saved. */
import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { type BuildContext, context } from "esbuild";
import { hookBuild } from "./bundle.js";

export type HookWatch = { close(): Promise<void> };

/** A save is several changes of a file; its reader should see the last. */
const SETTLE_MS = 15;
/** How long after a save the watcher finds out what the files import now. */
const LEARN_MS = 300;
/** Where the system doesn't tell of changes (a network's folder), the files are looked at so often. */
const POLL_MS = 1_000;

/**
 * Calls `onSave` after each save of the hook's file, of a project file that it imports, or of one of `others`, until it
 * is closed. After a save that doesn't compile, any change in the files' folders counts: it may be the missing file's.
 */
export async function watchHook(
  file: string,
  options: { projectDir: string; others: readonly string[]; onSave: () => void },
): Promise<HookWatch> {
  const source = resolve(options.projectDir, file);
  const builder = await context({
    ...hookBuild(source, dirname(source)),
    metafile: true,
    absWorkingDir: dirname(source),
  });
  const others = options.others.map((other) => resolve(options.projectDir, other));
  /** Each file's stamp when it was looked at last. */
  const seen = new Map<string, string>();
  let isWhole = true;
  let lastSaveMs = Number.POSITIVE_INFINITY;
  /** Something in the folders changed while a build was under way. */
  let isStirred = false;
  const learn = async (): Promise<void> => {
    isStirred = false;
    const inputs = await inputsOf(builder, dirname(source));
    isWhole = inputs !== null;
    const fresh = [source, ...others, ...(inputs ?? [])].filter((each) => !seen.has(each));
    for (const each of fresh) seen.set(each, stampOf(each));
    folders.follow([...seen.keys()].map((each) => dirname(each)));
    // Saved after the save that imports it: that one's scan may not have found it.
    const isLate = fresh.some((each) => savedMs(each) > lastSaveMs);
    if (isLate || (isStirred && !isWhole)) save();
  };
  /** Whether a file is another one than when it was looked at last; that is now. */
  const look = (): boolean => {
    const saved = [...seen].filter(([each, stamp]) => stampOf(each) !== stamp);
    for (const [each] of saved) seen.set(each, stampOf(each));
    return saved.length > 0;
  };
  let learning: NodeJS.Timeout | null = null;
  const save = (): void => {
    lastSaveMs = Date.now();
    options.onSave();
    // Not beside the compiler that the save itself keeps busy.
    learning ??= setTimeout(() => {
      learning = null;
      void learn();
    }, LEARN_MS);
  };
  let settling: NodeJS.Timeout | null = null;
  const folders = watchFolders(() => {
    settling ??= setTimeout(() => {
      settling = null;
      if (look() || !isWhole) save();
      else isStirred = true;
    }, SETTLE_MS);
  });
  await learn();
  const poll = setInterval(() => {
    if (look()) save();
  }, POLL_MS);
  return {
    close: async () => {
      clearInterval(poll);
      for (const timer of [settling, learning]) if (timer !== null) clearTimeout(timer);
      folders.close();
      await builder.dispose();
    },
  };
}

/** The files that a build reads; null where it fails. */
async function inputsOf(builder: BuildContext, folder: string): Promise<string[] | null> {
  try {
    const { metafile } = await builder.rebuild();
    return Object.keys(metafile?.inputs ?? {}).map((each) => resolve(folder, each));
  } catch {
    // Whoever compiles the hook says what is wrong with it.
    return null;
  }
}

/** Another one when the file was saved, came or went. */
function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
}

const savedMs = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function watchFolders(onChange: () => void): { follow(paths: string[]): void; close(): void } {
  const known = new Map<string, FSWatcher>();
  const follow = (paths: string[]): void => {
    for (const path of new Set(paths)) {
      if (known.has(path)) continue;
      try {
        known.set(path, watch(path, { persistent: false }, onChange));
      } catch {
        // Gone, or more than the system watches: looking at the files finds out all the same.
      }
    }
  };
  const close = (): void => {
    for (const watcher of known.values()) watcher.close();
    known.clear();
  };
  return { follow, close };
}
