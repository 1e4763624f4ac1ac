"""Reward-weighted regression for the environment model, as veRL 0.9.1 extensions.

Extension points: ``register_adv_est`` and ``register_policy_loss``; the module reaches the training
workers through ``rollout.checkpoint_engine.custom_backend_module``.

Source: GenEnv, arXiv 2512.19682: the environment model maximises the log-likelihood of its own
answers, weighted by exp(lambda R), with a KL to the initial model (veRL's ``use_kl_loss`` against
its reference).
"""

from collections.abc import Sequence
from typing import Any

import torch
from verl.trainer.ppo.core_algos import agg_loss, register_adv_est, register_policy_loss

from genenv.verl_config import RWR


def rwr_weights(
    rewards_N: torch.Tensor, groups_N: Sequence[str], temperature: float, cap: float
) -> torch.Tensor:
    """Weights proportional to exp(lambda R), with mean 1 within each prompt's group of answers.

    Args:
        rewards_N: one environment reward an answer, in [0, 1].
        groups_N: the prompt each answer belongs to.
        temperature: lambda; 0 gives every answer weight 1.
        cap: upper bound of a weight, so that one good answer among many can't blow the gradient up.

    Returns:
        Weights in [0, cap], shape (N,).
    """
    weights_N = torch.empty_like(rewards_N)
    for group in dict.fromkeys(groups_N):
        rows = torch.tensor([i for i, g in enumerate(groups_N) if g == group])
        # softmax(lambda R) * size == exp(lambda R) / mean(exp(lambda R)), without overflow
        weights_N[rows] = torch.softmax(temperature * rewards_N[rows], dim=0) * len(rows)
    return weights_N.clamp(max=cap)


@register_adv_est(RWR)
def compute_rwr_advantage(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: Sequence[str] | None = None,
    config: Any = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Spread each answer's regression weight over its tokens; shapes (N, T) in and out."""
    if index is None or config is None:
        raise ValueError(
            f"{RWR} needs the prompt index and the algorithm config; veRL passed neither"
        )
    weights_N = rwr_weights(
        token_level_rewards.sum(-1),
        [str(group) for group in index],
        float(config.genenv_lambda),
        float(config.genenv_weight_cap),
    )
    weights_NT = weights_N.unsqueeze(-1) * response_mask
    return weights_NT, weights_NT


@register_policy_loss(RWR)
def compute_rwr_loss(
    old_log_prob: torch.Tensor,
    log_prob: torch.Tensor,
    advantages: torch.Tensor,
    response_mask: torch.Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: torch.Tensor | None = None,
) -> tuple[torch.Tensor, dict[str, Any]]:
    """Weighted negative log-likelihood of the answers, aggregated like any policy loss of veRL."""
    loss = agg_loss(
        loss_mat=-advantages * log_prob,
        loss_mask=response_mask,
        loss_agg_mode=loss_agg_mode,
        **config.global_batch_info,
    )
    nll = -(log_prob * response_mask).sum() / response_mask.sum().clamp(min=1)
    return loss, {"actor/rwr_weight_max": advantages.max().item(), "actor/rwr_nll": nll.item()}
