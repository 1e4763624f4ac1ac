import { HookClient } from "../../bridge/hooks/client.js";
import type { HookHostEvent } from "../../bridge/hooks/host-event.js";
import type { Limits } from "../../bridge/hooks/messages.js";
import type { RewardColumn } from "../../bridge/hooks/types.js";
import { makePrivateDir } from "../../bridge/python/private-dir.js";
import { rewardModule } from "../run/hook-modules.js";

/** A reward up in its own host process, as in a run, with this process as its client. */
export interface RewardHost {
  name: string;
  uses: RewardColumn[];
  client: HookClient;
  /** Loads the reward as its file is now. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface RewardHostOptions {
  /** A file (`./reward.ts`, `./hooks.ts#name`), relative to the project, or builtin:NAME. */
  reward: string;
  projectDir: string;
  limits: Partial<Limits>;
  /** Where the hook's own output goes; null drops it. */
  logFile: string | null;
  /** `reload` will be called, and should be quick. */
  expectReload?: boolean;
  onEvent?: (event: HookHostEvent) => void;
}

/** Throws the HookError of a reward that can't be compiled or loaded. */
export async function openRewardHost(options: RewardHostOptions): Promise<RewardHost> {
  const { reward, ...rest } = options;
  const { startHookHost } = await import("../../bridge/hooks/host.js");
  const dir = await makePrivateDir();
  try {
    const host = await startHookHost({
      modules: {
        reward: rewardModule(reward),
        environment: null,
        curriculum: null,
        algorithms: null,
      },
      dir: dir.path,
      ...rest,
    });
    const { address, info } = host;
    const client = new HookClient({ address, uses: info.uses });
    const described = { name: info.reward ?? reward, uses: info.uses };
    return Object.assign(described, {
      client,
      reload: async () => {
        const now = await host.reload?.();
        if (now === undefined) return;
        described.name = now.reward ?? reward;
        described.uses = now.uses;
        client.use(now.uses);
      },
      close: async () => {
        client.close();
        await host.close();
        await dir.remove();
      },
    });
  } catch (error) {
    await dir.remove();
    throw error;
  }
}
