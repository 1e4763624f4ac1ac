"""vLLM's own AsyncLLM (0.32): chats in, finished samples out, one request a sample."""

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from transformers import AutoTokenizer
from vllm import SamplingParams, TokensPrompt
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.platforms import current_platform
from vllm.sampling_params import RequestOutputKind
from vllm.usage.usage_lib import UsageContext
from vllm.v1.engine.async_llm import AsyncLLM

from genenv.errors import DataError

# Samples under way: enough to fill any batch, few enough to bound memory.
_MAX_SAMPLES = 2048
_SHOWN_CHARACTERS = 80


class Engine:
    """A loaded model. Calls can overlap; each is a coroutine of the loop that made the engine."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        """Load a model; must run inside the event loop that will serve it.

        Args:
            arguments: vLLM's engine arguments.
        """
        config = AsyncEngineArgs(**arguments).create_engine_config(UsageContext.ENGINE_CONTEXT)
        if current_platform.is_cpu() and sys.platform == "linux":
            # vLLM's CPU platform asks for "spawn", and the engine would import everything again;
            # no OpenMP thread runs in this process yet, so forking is safe.
            os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "fork"
        self._llm = AsyncLLM.from_vllm_config(config, disable_log_stats=True)
        # A tokenizer of our own: vLLM's is busy in its threads.
        self._tokenizer = AutoTokenizer.from_pretrained(arguments["model"])
        self._numbers = itertools.count()
        self._open = asyncio.Semaphore(_MAX_SAMPLES)
        self._running = 0
        self._samples = 0
        self._response_tokens = 0
        self._started = time.monotonic()

    @property
    def max_model_tokens(self) -> int:
        """Tokens of prompt and response together."""
        return self._llm.model_config.max_model_len

    def status(self) -> dict[str, Any]:
        """What is under way and what has been done so far."""
        return {
            "maxModelTokens": self.max_model_tokens,
            "running": self._running,
            "samples": self._samples,
            "responseTokens": self._response_tokens,
            "upSeconds": time.monotonic() - self._started,
        }

    async def tokenize(self, prompts: Sequence[Any], raw: bool) -> dict[str, Any]:
        """Token ids of each prompt as the model gets it, under ``"tokens"``."""
        return {"tokens": await asyncio.to_thread(self._encode_all, prompts, raw)}

    async def generate(
        self,
        emit: Callable[[dict[str, Any]], None],
        *,
        prompts: Sequence[Any],
        raw: bool,
        n: int,
        sampling: dict[str, Any],
        skip: Sequence[int] = (),
    ) -> dict[str, Any]:
        """Give ``n`` samples of each prompt to ``emit``, each at the moment it is finished.

        Args:
            prompts: P prompts, each a text (one user message) or a list of messages.
            raw: texts are continued as they are, without the chat template.
            sampling: temperature, topP, topK (-1 for all), maxTokens, seed or None, stop. A seed
                gives sample s of prompt p the seed ``seed + p * n + s``, whatever else runs.
            skip: indices of prompts that are not to be sampled.

        Raises:
            DataError: a prompt leaves no room for a response, or the model has no chat template.
        """
        tokens_P = await asyncio.to_thread(self._encode_all, prompts, raw)
        self._refuse_long(tokens_P, prompts)
        left_out = set(skip)
        async with asyncio.TaskGroup() as group:
            for p, tokens in enumerate(tokens_P):
                for s in range(0 if p in left_out else n):
                    await self._open.acquire()
                    place = {"type": "sample", "prompt": p, "sample": s}
                    params = _params(sampling, p * n + s)
                    task = group.create_task(self._sample(tokens, params, place, emit))
                    # Not in the task itself: one that is cancelled before it starts runs nothing.
                    task.add_done_callback(lambda _: self._open.release())
        return {"prompts": len(prompts) - len(left_out)}

    async def _sample(
        self,
        tokens: list[int],
        params: SamplingParams,
        place: dict[str, Any],
        emit: Callable[[dict[str, Any]], None],
    ) -> None:
        self._running += 1
        try:
            prompt = TokensPrompt(prompt_token_ids=tokens)
            final = None
            async for output in self._llm.generate(prompt, params, f"s{next(self._numbers)}"):
                final = output
            assert final is not None
            response = final.outputs[0]
            self._samples += 1
            self._response_tokens += len(response.token_ids)
            emit(
                place
                | {
                    "text": response.text,
                    "finishReason": "length" if response.finish_reason == "length" else "stop",
                    "promptTokens": len(tokens),
                    "responseTokens": len(response.token_ids),
                }
            )
        finally:
            self._running -= 1

    def _encode_all(self, prompts: Sequence[Any], raw: bool) -> list[list[int]]:
        return [self._encode(prompt, raw, index) for index, prompt in enumerate(prompts)]

    def _encode(self, prompt: Any, raw: bool, index: int) -> list[int]:
        if raw:
            if not isinstance(prompt, str):
                raise DataError(
                    f"prompt {index} is a chat, and raw prompts are texts",
                    code="raw-chat",
                    hint="give a text, or leave raw out",
                )
            return self._tokenizer.encode(prompt)
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        if not self._tokenizer.chat_template:
            raise DataError(
                "the model has no chat template, so a chat can't be put to it",
                code="no-chat-template",
                hint="give texts with raw: true (--raw), or a model with a template",
            )
        try:
            return self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=True, return_dict=False
            )
        except Exception as error:
            raise DataError(
                f"the model's chat template refuses prompt {index} ({_show(prompt)}): {error}",
                code="chat-template",
                hint="some templates take no system message, or want roles to alternate",
            ) from error

    def _refuse_long(self, tokens_P: list[list[int]], prompts: Sequence[Any]) -> None:
        limit = self.max_model_tokens
        long = [p for p, tokens in enumerate(tokens_P) if len(tokens) >= limit]
        if not long:
            return
        first = long[0]
        more = f" (and {len(long) - 1} more prompts)" if len(long) > 1 else ""
        raise DataError(
            f"prompt {first} has {len(tokens_P[first])} tokens, and the model's context is {limit} "
            f"with the response{more}: {_show(prompts[first])}",
            code="prompt-too-long",
            hint="shorten it, or raise maxModelTokens (--max-model-tokens) as far as the model has",
        )

    def shut_down(self) -> None:
        """End the engine's process."""
        self._llm.shutdown(timeout=0.5)


def _params(sampling: dict[str, Any], offset: int) -> SamplingParams:
    seed = sampling["seed"]
    return SamplingParams(
        temperature=sampling["temperature"],
        top_p=sampling["topP"],
        top_k=sampling["topK"],
        max_tokens=sampling["maxTokens"],
        stop=sampling["stop"] or None,
        seed=None if seed is None else seed + offset,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _show(prompt: Any) -> str:
    text = prompt if isinstance(prompt, str) else str(prompt[-1].get("content", ""))
    return repr(text[:_SHOWN_CHARACTERS] + ("..." if len(text) > _SHOWN_CHARACTERS else ""))
