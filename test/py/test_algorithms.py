"""Reward-weighted regression in veRL's own terms, and GRPO beside veRL's padding rows."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the Python environment of genenv setup")
core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")

from genenv.plugin.algorithms import (  # noqa: E402
    RWR,
    compute_rwr_advantage,
    compute_rwr_loss,
    rwr_weights,
)
from verl import DataProto  # noqa: E402
from verl.trainer.ppo import padding_utils  # noqa: E402
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories  # noqa: E402
from verl.workers.config import FSDPActorConfig  # noqa: E402

LN3 = math.log(3)


def weights(rewards: list[float], groups: str, temperature: float, cap: float = 4.0) -> list[float]:
    return rwr_weights(torch.tensor(rewards), list(groups), temperature, cap).tolist()


def algorithm(temperature: float, cap: float = 4.0) -> SimpleNamespace:
    return SimpleNamespace(genenv_lambda=temperature, genenv_weight_cap=cap)


# -- weights ---------------------------------------------------------------------------------------


def test_weights_are_the_softmax_of_lambda_r_times_the_size_of_the_group() -> None:
    # exp(ln 3 * 1) = 3 and exp(0) = 1: shares 3/4 and 1/4 of a group of two.
    assert weights([1.0, 0.0], "aa", LN3) == pytest.approx([1.5, 0.5])


def test_each_prompts_answers_are_a_group_of_their_own_wherever_they_stand() -> None:
    # b: 9 and 1 of ln 9 = 2 ln 3, shares 0.9 and 0.1; a as above.
    got = weights([1.0, 2.0, 0.0, 0.0], "abab", LN3)
    assert got == pytest.approx([1.5, 1.8, 0.5, 0.2])


def test_weights_have_mean_one_in_each_group_where_none_is_capped() -> None:
    got = weights([0.1, 0.9, 0.4, 0.3, 0.2], "aaabb", 2.0)
    assert sum(got[:3]) == pytest.approx(3.0)
    assert sum(got[3:]) == pytest.approx(2.0)


def test_a_lambda_of_zero_weighs_every_answer_the_same() -> None:
    assert weights([0.0, 0.3, 1.0], "aaa", 0.0) == pytest.approx([1.0, 1.0, 1.0])


def test_an_answer_alone_in_its_group_has_weight_one() -> None:
    assert weights([0.0], "a", 5.0) == [1.0]


def test_the_cap_bounds_a_single_good_answer_and_leaves_the_others() -> None:
    # exp(ln 11) = 11 beside nine ones: 11 * 10 / 20 = 5.5, and 0.5 for each of the others.
    rewards = [1.0] + [0.0] * 9
    assert weights(rewards, "a" * 10, math.log(11), cap=6.0)[0] == pytest.approx(5.5)
    capped = weights(rewards, "a" * 10, math.log(11), cap=4.0)
    assert capped == pytest.approx([4.0] + [0.5] * 9)


@pytest.mark.parametrize("temperature", [1e3, 1e30])
def test_a_huge_lambda_picks_the_best_answer_without_overflow(temperature: float) -> None:
    assert weights([1.0, 0.0], "aa", temperature) == [2.0, 0.0]


def test_no_answers_have_no_weights() -> None:
    assert weights([], "", 1.0) == []


# -- advantage -------------------------------------------------------------------------------------


def test_verl_finds_the_objective_under_its_name() -> None:
    assert core_algos.get_adv_estimator_fn(RWR) is compute_rwr_advantage
    assert core_algos.get_policy_loss_fn(RWR) is compute_rwr_loss


def test_a_weight_lies_on_every_token_of_its_answer_and_on_no_other() -> None:
    rewards_NT = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    mask_NT = torch.tensor([[1, 1, 1], [1, 0, 0]])
    advantages, returns = compute_rwr_advantage(
        rewards_NT, mask_NT, index=np.array(["a", "a"], dtype=object), config=algorithm(LN3)
    )
    expected = torch.tensor([[1.5, 1.5, 1.5], [0.5, 0.0, 0.0]])
    torch.testing.assert_close(advantages, expected)
    torch.testing.assert_close(returns, expected)


@pytest.mark.parametrize("missing", ["index", "config"])
def test_an_advantage_without_groups_or_configuration_is_refused(missing: str) -> None:
    given: dict[str, Any] = {"index": ["a"], "config": algorithm(1.0)} | {missing: None}
    with pytest.raises(ValueError, match="genenv_rwr needs the prompt index and the algorithm"):
        compute_rwr_advantage(torch.zeros(1, 1), torch.ones(1, 1), **given)


# -- loss ------------------------------------------------------------------------------------------

LOG_PROB = [[-1.0, -2.0], [-3.0, -9.0]]
WEIGHTS = [[1.5, 1.5], [0.5, 0.0]]
MASK = [[1.0, 1.0], [1.0, 0.0]]


def loss(mode: str = "token-mean", **batch: int) -> tuple[float, dict[str, float]]:
    value, metrics = compute_rwr_loss(
        old_log_prob=torch.zeros(2, 2),
        log_prob=torch.tensor(LOG_PROB),
        advantages=torch.tensor(WEIGHTS),
        response_mask=torch.tensor(MASK),
        loss_agg_mode=mode,
        config=SimpleNamespace(global_batch_info=batch),
    )
    return value.item(), metrics


def test_the_loss_is_the_weighted_negative_log_likelihood_per_token() -> None:
    # 1.5 * 1 + 1.5 * 2 + 0.5 * 3 = 6 over three tokens; unweighted (1 + 2 + 3) / 3.
    value, metrics = loss()
    assert value == pytest.approx(2.0)
    assert metrics["actor/rwr_nll"] == pytest.approx(2.0)
    assert metrics["actor/rwr_weight_max"] == 1.5


def test_the_loss_is_a_share_of_the_whole_batch_where_several_workers_hold_it() -> None:
    # 6 over the batch's 12 tokens, times 2 workers whose gradients are averaged.
    assert loss(dp_size=2, batch_num_tokens=12)[0] == pytest.approx(1.0)


def test_the_loss_follows_the_aggregation_that_verl_is_told() -> None:
    # Token sums 4.5 and 1.5, mean over two answers.
    assert loss("seq-mean-token-sum")[0] == pytest.approx(3.0)
    with pytest.raises(ValueError, match="loss_agg_mode"):
        loss("no-such-mode")


def test_a_better_answer_gets_a_larger_gradient_and_a_masked_token_none() -> None:
    log_prob = torch.tensor(LOG_PROB, requires_grad=True)
    value, _ = compute_rwr_loss(
        torch.zeros(2, 2),
        log_prob,
        torch.tensor(WEIGHTS),
        torch.tensor(MASK),
        config=SimpleNamespace(global_batch_info={}),
    )
    value.backward()
    torch.testing.assert_close(log_prob.grad, torch.tensor([[-0.5, -0.5], [-1 / 6, 0.0]]))


def test_a_batch_of_masked_tokens_alone_has_a_finite_likelihood() -> None:
    _, metrics = compute_rwr_loss(
        torch.zeros(1, 2),
        torch.tensor([[-1.0, -2.0]]),
        torch.zeros(1, 2),
        torch.zeros(1, 2),
        config=SimpleNamespace(global_batch_info={"batch_num_tokens": 4}),
    )
    assert metrics["actor/rwr_nll"] == 0.0


def test_the_actor_configuration_of_verl_carries_the_batch_info_the_loss_reads() -> None:
    config = FSDPActorConfig(
        strategy="fsdp2", rollout_n=2, use_dynamic_bsz=False, ppo_micro_batch_size_per_gpu=1
    )
    assert config.global_batch_info == {}


# -- padding ---------------------------------------------------------------------------------------


class FakeQueue:
    """The two calls of TransferQueue that padding makes, with one row in it."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        self.written: Any = None

    def kv_batch_get(self, **_: Any) -> list[dict[str, Any]]:
        return [self.row]

    def kv_batch_put(self, **written: Any) -> None:
        self.written = written


def advantages(rewards: list[float], keys: list[str], masks: list[list[int]], name: str) -> Any:
    uids = np.array([key.split("_")[0] for key in keys], dtype=object)
    rewards_NT = torch.zeros(len(rewards), 2)
    rewards_NT[:, -1] = torch.tensor(rewards)
    data = DataProto.from_dict(
        {"token_level_rewards": rewards_NT, "response_mask": torch.tensor(masks)},
        non_tensors={"uid": uids},
    )
    out = compute_advantage_for_multi_trajectories(
        data, batch_keys=keys, adv_estimator=name, num_repeat=2, config=algorithm(LN3)
    )
    return out.batch["advantages"]


KEYS = ["a_0_0", "a_1_0", "a_2_0", "a_3_0", "b_0_0", "b_1_0"]
REWARDS = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["grpo", RWR])
def test_padding_rows_do_not_change_a_groups_statistics(name: str) -> None:
    plain = advantages(REWARDS, KEYS, [[1, 1]] * 6, name)
    padded = advantages(
        [*REWARDS, 0.0, 0.0], [*KEYS, "pad0_0_0", "pad0_1_0"], [[1, 1]] * 6 + [[0, 0]] * 2, name
    )
    torch.testing.assert_close(padded[:6], plain)
    assert padded[6:].tolist() == [[0.0, 0.0]] * 2


def test_grpo_centres_a_group_on_its_mean_and_gives_equal_rewards_nothing() -> None:
    # Two of four right: mean 1/2, standard deviation sqrt(4 * 0.25 / 3), so sqrt(3) / 2 each way.
    half = math.sqrt(3) / 2
    got = advantages(REWARDS, KEYS, [[1, 1]] * 6, "grpo")[:, 0].tolist()
    assert got == pytest.approx([half, -half, -half, half, 0.0, 0.0], abs=1e-5)


def test_verl_pads_with_rows_of_a_group_of_their_own_that_train_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = FakeQueue({"uid": "a", "prompts": torch.tensor([5]), "responses": torch.tensor([6, 7])})
    monkeypatch.setattr(padding_utils, "tq", queue)
    batch = padding_utils.KVBatchMeta(
        partition_id="train", keys=["a_0_0", "a_1_0", "a_2_0"], tags=[{"seq_len": 3}] * 3
    )
    padded = padding_utils.upsample_batch_to_divisible_size(batch, 4, eos_token_id=0)
    assert len(padded.keys) == 4 and padded.keys[3].startswith("pad")
    assert padded.tags[3]["is_padding"] is True
    (row,) = queue.written["fields"]
    assert row["uid"] not in ("a", "b")
    assert row["response_mask"].tolist() == [0]
    assert row["rm_scores"].tolist() == [0.0]
