"""The learning bench's two models: about 1 M parameters, made here and taught a little.

``python warm_start.py FOLDER``: reads FOLDER/ROLE.jsonl ({"prompt", "response"} a line) for each
role and writes FOLDER/ROLE, which transformers and vLLM load.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
from genenv.models import tiny_model
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

# Steps of 96 lessons each.
STEPS = {"agent": 400, "environment": 120}
_BATCH = 96
_RATE = 2e-3
_NUMBERS = 100
_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}<|im_end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token a number, with the plus or the space before it; letters one by one."""
    words = ["<pad>", "<|user|>", "<|im_end|>", "<|assistant|>"]
    words += [f"{before}{n}" for before in ("", " ", "+") for n in range(_NUMBERS)]
    words += [*"abcdefghijklmnopqrstuvwxyz", "+", " ", "?"]
    tokens = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="?"))
    tokens.pre_tokenizer = pre_tokenizers.Split(Regex(r"[ +]?\d+|[\s\S]"), "isolated")
    tokens.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokens,
        pad_token="<pad>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|user|>", "<|assistant|>"],
    )
    tokenizer.chat_template = _TEMPLATE
    tokenizer.model_max_length = 256
    return tokenizer


def to_batch(
    tokenizer: PreTrainedTokenizerFast, lessons: list[dict[str, str]]
) -> dict[str, torch.Tensor]:
    """Chats with their answers, padded on the right; only the answers' tokens are taught."""
    rows, starts = [], []
    for lesson in lessons:
        asked: dict[str, Any] = {"role": "user", "content": lesson["prompt"]}
        said = {"role": "assistant", "content": lesson["response"]}
        prompt = tokenizer.apply_chat_template(
            [asked], add_generation_prompt=True, return_dict=False
        )
        rows.append(tokenizer.apply_chat_template([asked, said], return_dict=False))
        starts.append(len(prompt))
    width = max(map(len, rows))
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    mask = torch.zeros_like(ids)
    for place, (row, start) in enumerate(zip(rows, starts, strict=True)):
        ids[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = 1
        labels[place, start : len(row)] = ids[place, start : len(row)]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def teach(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    lessons: list[dict[str, str]],
    steps: int,
    seed: int,
) -> float:
    """Supervised training; gives the mean loss of the last tenth."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, _RATE, total_steps=steps, pct_start=0.1
    )
    generator = random.Random(seed)
    losses = []
    for step in range(steps):
        batch = to_batch(tokenizer, generator.sample(lessons, _BATCH))
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 49:
            print(f"step {step + 1} of {steps}: loss {loss.item():.3f}", flush=True)
    last = losses[-max(1, steps // 10) :]
    return sum(last) / len(last)


def main(folder: Path) -> None:
    # Steps this small are no faster on more threads, and others may want the cores.
    torch.set_num_threads(1)
    tokenizer = make_tokenizer()
    for seed, (role, steps) in enumerate(STEPS.items()):
        started = time.monotonic()
        lines = (folder / f"{role}.jsonl").read_text().splitlines()
        model = tiny_model(tokenizer, seed)
        loss = teach(model, tokenizer, [json.loads(line) for line in lines], steps, seed)
        model.save_pretrained(folder / role)
        tokenizer.save_pretrained(folder / role)
        parameters = sum(p.numel() for p in model.parameters())
        seconds = time.monotonic() - started
        print(f"{role}: {parameters} parameters, loss {loss:.3f}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
