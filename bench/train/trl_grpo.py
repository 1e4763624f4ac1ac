"""TRL's GRPOTrainer on a CPU, as ``python trl_grpo.py SETTINGS_AS_JSON``.

It prints ``step N: SECONDS s`` for each optimiser step: rollout, scoring and update. TRL's own
defaults hold except for what a CPU needs and what the other systems of the bench are told too.
"""

import json
import sys
import time
from typing import Any

from datasets import load_dataset
from sums_reward import compute_score
from transformers import AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class Clock(TrainerCallback):
    """Says how long each step took."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._since = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        now = time.perf_counter()
        print(f"step {state.global_step}: {now - self._since:.4f} s", flush=True)
        self._since = now


def sums(
    completions: list[list[dict[str, str]]], ground_truth: list[str], **_: object
) -> list[float]:
    """The bench's reward over a batch of conversational completions."""
    pairs = zip(completions, ground_truth, strict=True)
    return [compute_score("", messages[-1]["content"], truth, None) for messages, truth in pairs]


def main(settings: dict[str, Any]) -> None:
    data = load_dataset("parquet", data_files=settings["data"], split="train")
    data = data.map(
        lambda row: {"ground_truth": row["reward_model"]["ground_truth"]},
        remove_columns=[name for name in data.column_names if name != "prompt"],
    )
    rows = settings["prompts"] * settings["responses"]
    config = GRPOConfig(
        output_dir=settings["folder"],
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=rows,
        num_generations=settings["responses"],
        max_completion_length=settings["max_response_length"],
        learning_rate=settings["lr"],
        max_steps=settings["steps"],
        save_strategy="no",
        report_to="none",
        logging_steps=1_000_000,
        disable_tqdm=True,
        model_init_kwargs={"dtype": "float32"},
    )
    trainer = GRPOTrainer(
        model=settings["model"],
        reward_funcs=sums,
        args=config,
        train_dataset=data,
        processing_class=AutoTokenizer.from_pretrained(settings["model"], padding_side="left"),
        callbacks=[Clock()],
    )
    trainer.train()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
