"""veRL's configuration for each role: whose key wins, which are refused, and what is sized."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from genenv import device
from genenv.errors import ConfigError
from omegaconf import OmegaConf

pytest.importorskip("verl", reason="needs the Python environment of genenv setup")

from genenv import verl_config
from genenv.loop.settings import Settings, from_params
from genenv.verl_config import check_batch_arithmetic, role_config

# Composing and merging veRL's thousand keys takes seconds: the tests share one composition, of what
# genenv touches.
DEFAULTS = verl_config.verl_defaults()
OmegaConf.set_struct(DEFAULTS, False)
for unused in ("critic", "reward_model"):
    del DEFAULTS[unused]
GENENV: dict[str, Any] = {
    "hooks": {"scoring": "batch"},
    "enable": True,
    "device": "cpu",
    "env_update": "rwr",
    "share_gpus": False,
    "lambda": 2,
    "num_generations_per_prompt": 4,
    "env": {},
}


@pytest.fixture(autouse=True)
def _composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verl_config, "verl_defaults", lambda: copy.deepcopy(DEFAULTS))


def tree(**dotted: Any) -> dict[str, Any]:
    """Nested keys from `a__b=1`."""
    root: dict[str, Any] = {}
    for path, value in dotted.items():
        *parents, name = path.split("__")
        node = root
        for parent in parents:
            node = node.setdefault(parent, {})
        node[name] = value
    return root


SMALL = tree(
    data__train_batch_size=8,
    actor_rollout_ref__actor__ppo_mini_batch_size=8,
    actor_rollout_ref__rollout__n=4,
)


def merged(*trees: dict[str, Any]) -> dict[str, Any]:
    return OmegaConf.to_container(OmegaConf.merge(*trees))  # type: ignore[return-value]


def config_of(overlay: dict[str, Any] | None = None, role: str = "agent", **options: Any) -> Any:
    given = {"device": "cpu", "genenv": GENENV, "added": [], "deleted": []} | options
    return role_config(role, merged(SMALL, overlay or {}), **given)


# -- unknown, added and deleted keys ---------------------------------------------------------------


def test_an_unknown_key_is_refused_and_the_nearest_one_named() -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(tree(actor_rollout_ref__actor__optim__lrr=1e-5))
    assert caught.value.code == "unknown-key"
    assert caught.value.message == "veRL has no key `actor_rollout_ref.actor.optim.lrr`"
    assert caught.value.hint is not None
    assert "did you mean `actor_rollout_ref.actor.optim.lr`?" in caught.value.hint
    assert "`+actor_rollout_ref.actor.optim.lrr=...`" in caught.value.hint


def test_a_key_given_with_a_plus_may_be_new_to_verl() -> None:
    config = config_of(tree(algorithm__my_key=3), added=["algorithm.my_key"])
    assert config.algorithm.my_key == 3


def test_a_key_given_with_a_plus_brings_the_sections_it_lies_in_and_those_below_it() -> None:
    overlay = tree(algorithm__mine__deep__key=3, algorithm__mine__deep__other=4)
    config = config_of(overlay, added=["algorithm.mine.deep"])
    assert config.algorithm.mine.deep == {"key": 3, "other": 4}


def test_a_plus_for_one_key_does_not_let_its_neighbour_through() -> None:
    overlay = tree(algorithm__mine__key=3, algorithm__mine__other=4)
    with pytest.raises(ConfigError, match=r"`algorithm\.mine\.other`"):
        config_of(overlay, added=["algorithm.mine.key"])


def test_any_key_is_taken_where_verl_passes_a_section_on_to_a_library() -> None:
    config = config_of(
        merged(
            tree(actor_rollout_ref__model__override_config__rope_scaling={"factor": 2.0}),
            tree(actor_rollout_ref__rollout__engine_kwargs__vllm__max_logprobs=5),
        )
    )
    assert config.actor_rollout_ref.model.override_config.rope_scaling.factor == 2.0
    # Beside it, what the device and veRL say there stays.
    assert config.actor_rollout_ref.model.override_config.attn_implementation == "sdpa"
    assert config.actor_rollout_ref.rollout.engine_kwargs.vllm == {
        "distributed_executor_backend": "uni",
        "max_logprobs": 5,
        "kv_cache_memory_bytes": 2**30,
    } | {
        k: v
        for k, v in DEFAULTS.actor_rollout_ref.rollout.engine_kwargs.get("vllm", {}).items()
        if k not in ("distributed_executor_backend", "max_logprobs")
    }


def test_a_key_taken_away_with_a_tilde_is_gone() -> None:
    assert "lam" in config_of().algorithm
    assert "lam" not in config_of(deleted=["algorithm.lam"]).algorithm


@pytest.mark.parametrize("path", ["algorithm.no_such_key", "no_such_section.key", "nothing"])
def test_taking_away_a_key_that_is_not_there_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot remove `{path}` with ~") as caught:
        config_of(deleted=[path])
    assert caught.value.code == "unknown-key"


def test_an_environment_without_verl_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ConfigError) as caught:
        verl_config._config_folder()
    assert (caught.value.code, caught.value.hint) == ("no-verl", "run: npx genenv setup")


# -- whose key wins --------------------------------------------------------------------------------


def test_the_cpus_keys_lie_over_verls_and_below_the_users() -> None:
    plain = config_of()
    assert DEFAULTS.actor_rollout_ref.rollout.tensor_model_parallel_size == 2
    assert plain.actor_rollout_ref.rollout.tensor_model_parallel_size == 1
    assert plain.actor_rollout_ref.rollout.enforce_eager is True
    assert plain.trainer.n_gpus_per_node == 1
    mine = config_of(tree(actor_rollout_ref__rollout__enforce_eager=False))
    assert mine.actor_rollout_ref.rollout.enforce_eager is False
    assert mine.actor_rollout_ref.rollout.tensor_model_parallel_size == 1


def test_on_a_gpu_verls_own_values_stay() -> None:
    config = config_of(device="cuda")
    assert config.actor_rollout_ref.rollout.tensor_model_parallel_size == 2
    assert config.trainer.n_gpus_per_node == 8
    assert config.actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu is None


@pytest.mark.parametrize("role", ["agent", "environment"])
def test_what_the_loop_decides_is_above_the_users_keys(role: str) -> None:
    overlay = tree(trainer__resume_mode="auto", reward__num_workers=3)
    config = config_of(overlay, role)
    assert config.trainer.resume_mode == "disable"
    assert config.reward.num_workers == 0
    assert config.trainer.v1.trainer_mode == "genenv_role"
    assert config.transfer_queue.enable is True


def test_only_the_environment_gets_the_regression_and_its_lambda() -> None:
    agent, environment = config_of(), config_of(role="environment")
    assert agent.algorithm.adv_estimator == DEFAULTS.algorithm.adv_estimator
    assert environment.algorithm.adv_estimator == "genenv_rwr"
    assert environment.algorithm.genenv_lambda == 2.0
    assert environment.actor_rollout_ref.actor.policy_loss.loss_mode == "genenv_rwr"


@pytest.mark.parametrize(("update", "kl"), [("grpo", True), ("none", False)])
def test_the_other_ways_to_update_the_environment_keep_the_users_objective(
    update: str, kl: bool
) -> None:
    overlay = tree(actor_rollout_ref__actor__use_kl_loss=True)
    config = config_of(overlay, "environment", genenv=GENENV | {"env_update": update})
    assert config.algorithm.adv_estimator == DEFAULTS.algorithm.adv_estimator
    # A frozen model needs no reference to stay near.
    assert config.actor_rollout_ref.actor.use_kl_loss is kl


# -- precision -------------------------------------------------------------------------------------


def with_flags(monkeypatch: pytest.MonkeyPatch, flags: str) -> None:
    text = f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: amx_bf16\n"
    monkeypatch.setattr(Path, "read_text", lambda _self: text)


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ("fpu avx2 avx512f", "float32"),
        ("fpu avx512_bf16", "bfloat16"),
        ("amx_bf16 fpu", "bfloat16"),
        ("not_amx_bf16x", "float32"),
        ("", "float32"),
    ],
)
def test_models_are_computed_in_what_the_processor_is_good_at(
    monkeypatch: pytest.MonkeyPatch, flags: str, dtype: str
) -> None:
    with_flags(monkeypatch, flags)
    root = device.cpu_overlay()["actor_rollout_ref"]
    assert root["rollout"]["dtype"] == dtype
    for role in ("actor", "ref"):
        assert root[role]["fsdp_config"]["dtype"] == dtype
        assert root[role]["fsdp_config"]["mixed_precision"]["param_dtype"] == dtype
        assert root[role]["fsdp_config"]["mixed_precision"]["reduce_dtype"] == "float32"


def test_the_users_precision_wins_over_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "cpu_has_bf16", lambda: True)
    config = config_of(tree(actor_rollout_ref__rollout__dtype="float32"))
    assert config.actor_rollout_ref.rollout.dtype == "float32"
    assert config.actor_rollout_ref.actor.fsdp_config.dtype == "bfloat16"


# -- micro-batches ---------------------------------------------------------------------------------

MINI = "actor_rollout_ref__actor__ppo_mini_batch_size"
MICRO = "actor_rollout_ref__actor__ppo_micro_batch_size_per_gpu"
DYNAMIC = "actor_rollout_ref__actor__use_dynamic_bsz"


def test_on_a_cpu_micro_batches_are_sized_by_tokens() -> None:
    config = config_of(tree(data__max_prompt_length=96, data__max_response_length=24))
    assert config.actor_rollout_ref.actor.use_dynamic_bsz is True
    assert config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu == 1024
    # The rollout's and the reference's log-probabilities follow veRL's own interpolation.
    assert config.actor_rollout_ref.rollout.log_prob_use_dynamic_bsz is True
    assert config.actor_rollout_ref.ref.log_prob_use_dynamic_bsz is True


def test_a_micro_batch_holds_at_least_one_sequence_of_the_greatest_length() -> None:
    config = config_of(tree(data__max_prompt_length=3000, data__max_response_length=1000))
    assert config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu == 4000


@pytest.mark.parametrize(
    "overlay",
    [
        tree(**{MICRO: 2}),
        tree(actor_rollout_ref__ref__log_prob_micro_batch_size_per_gpu=2),
    ],
)
def test_a_user_who_sizes_micro_batches_by_rows_is_left_to_it(overlay: dict[str, Any]) -> None:
    actor = config_of(overlay).actor_rollout_ref.actor
    assert actor.use_dynamic_bsz is DEFAULTS.actor_rollout_ref.actor.use_dynamic_bsz is False
    assert (
        actor.ppo_max_token_len_per_gpu
        == DEFAULTS.actor_rollout_ref.actor.ppo_max_token_len_per_gpu
    )


# -- batch arithmetic ------------------------------------------------------------------------------


def sizes(**overlay: Any) -> Any:
    """A configuration of what batch arithmetic looks at, and nothing else: it is quick to make."""
    base = tree(trainer__n_gpus_per_node=1, trainer__nnodes=1, **{DYNAMIC: False, MICRO: None})
    return OmegaConf.merge(base, SMALL, tree(**overlay))


def refusal(role: str = "agent", **overlay: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        check_batch_arithmetic(role, sizes(**overlay))
    assert caught.value.code == "batch-arithmetic"
    return caught.value


def test_batches_that_divide_are_accepted() -> None:
    check_batch_arithmetic("agent", config_of())
    check_batch_arithmetic("agent", sizes())
    check_batch_arithmetic("agent", sizes(**{MICRO: 16}))


def test_a_mini_batch_exactly_as_large_as_the_batch_is_accepted_and_a_larger_one_refused() -> None:
    check_batch_arithmetic("agent", sizes(data__train_batch_size=8))
    error = refusal(data__train_batch_size=7)
    assert "ppo_mini_batch_size` (8) is larger than `data.train_batch_size` (7)" in error.message


def test_rows_that_do_not_divide_are_refused_with_a_size_that_would() -> None:
    error = refusal(**{MICRO: 5})
    assert "a mini-batch of 32 rows" in error.message
    assert "does not divide by `ppo_micro_batch_size_per_gpu` (5) x 1 worker(s)" in error.message
    assert error.hint == "use a micro-batch that divides 32, for example 4"


def test_the_environments_keys_are_named_as_the_user_writes_them() -> None:
    error = refusal("environment", data__train_batch_size=7)
    assert "`genenv.env.actor_rollout_ref.actor.ppo_mini_batch_size`" in error.message


def test_batches_sized_by_tokens_need_not_divide() -> None:
    check_batch_arithmetic("agent", sizes(**{MICRO: 5, DYNAMIC: True}))


def test_rows_are_shared_among_the_workers_of_all_nodes() -> None:
    workers = {"trainer__n_gpus_per_node": 2, "trainer__nnodes": 2}
    check_batch_arithmetic("agent", sizes(**workers, **{MICRO: 8}))
    error = refusal(**workers, **{MICRO: 16})
    assert error.hint == "use a micro-batch that divides 8, for example 8"


@pytest.mark.parametrize("workers", [3, 64])
def test_rows_that_no_micro_batch_could_share_among_the_workers_are_refused(workers: int) -> None:
    error = refusal(trainer__n_gpus_per_node=workers, **{MICRO: 1})
    assert "a mini-batch of 32 rows" in error.message
    assert f"does not divide among {workers} workers" in error.message
    assert error.hint == f"make ppo_mini_batch_size x rollout.n a multiple of {workers}"


# -- a run's settings ------------------------------------------------------------------------------


def settings(
    agent: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    env_model: str | None = "/m/environment",
    **genenv: Any,
) -> Settings:
    agent = SMALL if agent is None else agent
    # What TypeScript makes of them (sdk/config/environment-overlay.ts).
    sizes = tree(
        data__train_batch_size=2,
        actor_rollout_ref__actor__ppo_mini_batch_size=2,
        actor_rollout_ref__rollout__n=4,
        actor_rollout_ref__model__path=env_model,
    )
    return from_params(
        {
            "runDir": "/run",
            "genenv": GENENV | genenv,
            "verl": {
                "agent": agent,
                "environment": merged(merged(agent, sizes), environment or {}),
                "added": [],
                "deleted": [],
            },
            "envModelPath": env_model,
            "hooks": {"address": "unix:/run/hooks.sock", "token": None},
            "resume": True,
        }
    )


def test_each_role_has_the_sizes_that_typescript_gave_it() -> None:
    named = tree(data__train_batch_size=6, actor_rollout_ref__actor__ppo_mini_batch_size=3)
    run = settings(environment=named)
    config = run.configs["environment"]
    assert (config.data.train_batch_size, run.environment_prompts) == (6, 6)
    root = config.actor_rollout_ref
    assert (root.actor.ppo_mini_batch_size, root.rollout.n) == (3, 4)
    assert (run.batch_size, run.responses_per_task) == (8, 4)
    assert (run.run_dir, run.resume, run.hook_token) == (Path("/run"), True, None)


def test_the_environment_may_be_a_model_of_its_own() -> None:
    run = settings(merged(SMALL, tree(actor_rollout_ref__model__path="/m/a")))
    assert run.configs["environment"].actor_rollout_ref.model.path == "/m/environment"
    assert run.agent.actor_rollout_ref.model.path == "/m/a"
    assert not run.shares_model


def test_one_model_in_both_roles_has_one_trainer_that_still_writes_tasks() -> None:
    run = settings(env_model="agent")
    assert list(run.configs) == ["agent"]
    assert run.shares_model
    assert run.environment_prompts == 2


@pytest.mark.parametrize(
    ("env_model", "update", "steps"),
    [("agent", "rwr", 6), ("agent", "none", 3), ("/m/environment", "rwr", 3)],
)
def test_a_learning_rate_is_scheduled_over_all_updates_of_its_model(
    env_model: str, update: str, steps: int
) -> None:
    three = merged(SMALL, tree(trainer__total_epochs=3))
    run = settings(three, env_model=env_model, env_update=update)
    assert [config.trainer.total_training_steps for config in run.configs.values()] == [
        steps for _ in run.configs
    ]


def test_plain_grpo_has_no_environment_role() -> None:
    assert list(settings(enable=False).configs) == ["agent"]


def test_a_wrong_key_or_size_of_the_environment_is_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match=r"`actor_rollout_ref\.actor\.optim\.lrr`"):
        settings(environment=tree(actor_rollout_ref__actor__optim__lrr=1))
    named = tree(actor_rollout_ref__actor__ppo_mini_batch_size=3)
    with pytest.raises(ConfigError, match=r"genenv\.env\.data\.train_batch_size` \(2\)"):
        settings(environment=named, env=named)


@pytest.mark.parametrize(
    ("requested", "gpu", "expected"),
    [("auto", True, "cuda"), ("auto", False, "cpu"), ("cpu", True, "cpu"), ("cuda", False, "cuda")],
)
def test_the_device_is_the_users_word_or_what_the_machine_has(
    monkeypatch: pytest.MonkeyPatch, requested: str, gpu: bool, expected: str
) -> None:
    monkeypatch.setattr(device.os.path, "exists", lambda path: gpu and path == "/dev/nvidiactl")
    assert device.resolve_device(requested) == expected


def kv_cache(overlay: dict[str, Any]) -> int:
    config = config_of(overlay)
    return config.actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_memory_bytes


def test_the_kv_cache_of_a_cpu_holds_the_batchs_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    sizes |= {"hidden_size": 32, "intermediate_size": 64, "vocab_size": 100}
    sizes |= {"max_position_embeddings": 1000}
    (tmp_path / "config.json").write_text(json.dumps(sizes))
    monkeypatch.setattr(device, "cpu_has_bf16", lambda: False)
    model = {"actor_rollout_ref__model__path": str(tmp_path)}
    lengths = {"data__max_prompt_length": 100, "data__max_response_length": 30}
    # 2 layers x 2 heads x 8 numbers of 4 bytes, keys and values: 256 bytes a token; 130 tokens take
    # two blocks of 128, and 8 prompts x 4 responses are under way. One block is vLLM's own.
    own = 256 * 128
    assert kv_cache(tree(**model, **lengths)) == 256 * 256 * 32 + own
    few = {"actor_rollout_ref__rollout__max_num_seqs": 5}
    assert kv_cache(tree(**model, **lengths, **few)) == 256 * 256 * 5 + own
    # One sequence of the model's longest, 1,000 tokens in 8 blocks, has room at least.
    one = {"actor_rollout_ref__rollout__max_num_seqs": 1}
    assert kv_cache(tree(**model, **lengths, **one)) == 256 * 1024 + own
    shorter = one | {"actor_rollout_ref__rollout__max_model_len": 200}
    assert kv_cache(tree(**model, **lengths, **shorter)) == 256 * 256 + own
    many = {"data__train_batch_size": 4096, "data__max_prompt_length": 100_000}
    assert (
        kv_cache(tree(**model, **(lengths | many), actor_rollout_ref__rollout__n=512))
        == 2**32 + own
    )
    given = {"actor_rollout_ref__rollout__engine_kwargs": {"vllm": {"kv_cache_memory_bytes": 7}}}
    assert kv_cache(tree(**model, **given)) == 7
    unknown = {"actor_rollout_ref__model__path": "somebody/elsewhere"}
    assert kv_cache(tree(**unknown)) == 2**30


def test_telemetry_is_off_unless_the_users_environment_turns_it_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in device.QUIET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VLLM_NO_USAGE_STATS", "0")
    env = device.worker_environment("cpu", threads=3)
    assert env["RAY_USAGE_STATS_ENABLED"] == "0"
    assert env["VLLM_NO_USAGE_STATS"] == "0"
    assert env["OMP_NUM_THREADS"] == "3"


def test_huge_pages_are_asked_for_on_a_cpu_unless_the_users_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    assert device.worker_environment("cpu", threads=3)["THP_MEM_ALLOC_ENABLE"] == "1"
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "0")
    assert device.worker_environment("cpu", threads=3)["THP_MEM_ALLOC_ENABLE"] == "0"


def test_a_gpus_workers_get_none_of_the_cpus_variables() -> None:
    env = device.worker_environment("cuda", threads=3)
    assert "VERL_PLATFORM" not in env and "OMP_NUM_THREADS" not in env
    assert env["VERL_USE_EXTERNAL_MODULES"] == "genenv.plugin"


def test_lora_is_refused_on_a_cpu_where_its_weights_would_not_reach_the_rollout() -> None:
    lora = tree(actor_rollout_ref__model__lora_rank=8)
    with pytest.raises(ConfigError, match="lora_rank` is 8"):
        config_of(lora)
    assert config_of(lora, device="cuda").actor_rollout_ref.model.lora_rank == 8


# -- scoring ---------------------------------------------------------------------------------------


def test_overlap_gives_the_agent_a_reward_worker_with_our_manager_and_nobody_else() -> None:
    overlap = GENENV | {"hooks": {"scoring": "overlap"}}
    reward = config_of({}, "agent", genenv=overlap).reward
    assert (reward.num_workers, reward.reward_manager.name) == (1, "HookRewardManager")
    assert reward.reward_manager.module.path == "pkg://genenv.plugin.reward_manager"
    assert config_of({}, "environment", genenv=overlap).reward.num_workers == 0
    assert config_of({}, "agent").reward.num_workers == 0
