/** A run that the real veRL and vLLM do in about a minute on two cores. */
export const tinyOptions = [
  ...["--model", "builtin:tiny"],
  ...["--env-model", "builtin:tiny"],
  "genenv.hooks.reward=test/stack/tiny-run/reward.ts",
  "genenv.hooks.environment=test/stack/tiny-run/environment.ts",
  "data.train_batch_size=8",
  "actor_rollout_ref.rollout.n=4",
];
