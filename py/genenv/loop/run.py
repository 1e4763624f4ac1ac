"""The ``train`` job: start everything, run the epochs, save, and leave nothing behind."""

import contextlib
import errno
import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genenv.errors import DataError, HookError, WorkerError
from genenv.hook_nodes import new_run
from genenv.hooks import HookClient
from genenv.loop import checkpoint
from genenv.loop.check import as_files
from genenv.loop.context import Context
from genenv.loop.epoch import EpochRunner
from genenv.loop.events import Emit, Progress
from genenv.loop.ledger import Ledger
from genenv.loop.metrics import reward_metrics
from genenv.loop.overlap import hooks_environment
from genenv.loop.pool import Pool
from genenv.loop.python_reward import PythonReward, Scorer, load_python_reward
from genenv.loop.record import response_rows
from genenv.loop.rewind import rewind
from genenv.loop.rollouts import write_rollouts
from genenv.loop.scoring import refuse_failed_scores, score_groups
from genenv.loop.settings import Settings, from_params
from genenv.loop.stack import Stack
from genenv.loop.state import LoopState
from genenv.loop.tasks import read_tasks
from genenv.role.handle import RoleHandle
from genenv.verl_config import trackers


def train(params: dict[str, Any], emit: Emit, stop: threading.Event) -> dict[str, Any]:
    """Run a whole training; ``stop`` ends it after the step under way, with everything saved.

    Args:
        params: the resolved run, see ``Settings``.
        emit: takes progress events.
        stop: set to end early.

    Returns:
        ``epochs``, ``steps``, ``checkpoint`` (path or None), ``stopped`` and the last ``metrics``.
    """
    settings = from_params(params)
    hook_run = new_run()
    on_nodes = hook_run if settings.hook_bundle else None
    where = settings.hook_address, settings.hook_token, settings.remote_hooks, on_nodes
    stack = Stack(
        settings.run_dir / "logs",
        settings.device,
        settings.genenv["fast_start"],
        settings.genenv["ray_address"],
        hooks_environment(*where),
        settings.shares_devices,
        settings.hook_bundle,
        hook_run,
        settings.hook_limits,
    )
    progress = Progress(emit, settings.run_dir / "metrics.jsonl")
    try:
        progress.phase("start", detail="starting")
        stack.start(settings.configs, stop, lambda text: progress.phase("start", detail=text))
        with HookClient(settings.hook_address, settings.hook_token) as client:
            training = Training(settings, stack.roles, client, progress, stop, stack.node_hooks)
            return training.go()
    except InterruptedError:
        return {"epochs": 0, "steps": 0, "checkpoint": None, "stopped": True, "metrics": {}}
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise WorkerError(
            f"the disk of {settings.run_dir} is full: {error}",
            code="disk-full",
            hint=f"make room there, then: npx genenv resume {settings.run_dir}",
        ) from error
    finally:
        stack.stop()


class Training:
    """One training with everything up; the roles stay up when it ends."""

    def __init__(
        self,
        settings: Settings,
        roles: dict[str, RoleHandle],
        client: HookClient,
        progress: Progress,
        stop: threading.Event,
        node_hooks: Scorer | None = None,
    ) -> None:
        self._settings = settings
        self._roles = roles
        self._client = client
        self._scorer = load_python_reward(settings.agent) or node_hooks or client
        self._progress = progress
        if isinstance(self._scorer, PythonReward):
            # The hook host itself tells the first failures of TypeScript's.
            self._scorer.warn = progress.warning
        if trackers(settings.agent):
            agent = roles["agent"]
            progress.track = lambda values, step: agent.call("track", values=values, step=step)
        self._stop = stop
        self._checkpoints = settings.run_dir / "checkpoints"
        self._saved: Path | None = None
        self._last: dict[str, float] = {}
        self._validated_epoch = -1
        config = settings.run_dir / "config.yaml"
        # As it is now: it may be edited while the run goes on.
        self._config = config.read_text() if config.is_file() else None
        data = settings.agent.data
        self._seed_tasks = read_tasks(as_files(data.train_files), "seed")
        self._validation_tasks = read_tasks(as_files(data.val_files), "val")
        self._ledger = Ledger(settings.run_dir / "tasks.parquet")
        seed = settings.genenv["seed"]
        pool = settings.genenv["pool"]
        self._state = LoopState(Pool(pool["cap"], pool["near_duplicate"]), random.Random(seed))

    def go(self) -> dict[str, Any]:
        self._restore()
        agent = self._roles["agent"]
        self._runner = EpochRunner(
            Context(
                settings=self._settings,
                agent=agent,
                environment=(
                    agent if self._settings.shares_model else self._roles.get("environment")
                ),
                client=self._client,
                scorer=self._scorer,
                seed_tasks=self._seed_tasks,
                state=self._state,
                ledger=self._ledger,
                progress=self._progress,
                stop=self._stop,
            )
        )
        trainer = self._settings.agent.trainer
        if trainer.val_before_train and self._state.epoch == 0:
            self._validate()
        while self._state.epoch < trainer.total_epochs and not self._stop.is_set():
            epoch = self._state.epoch + 1
            self._progress.epoch = epoch
            if not self._finishes(lambda epoch=epoch: self._runner.run(epoch)):
                break
            last = epoch == trainer.total_epochs
            if not last and trainer.test_freq > 0 and epoch % trainer.test_freq == 0:
                self._validate()
            if not last and trainer.save_freq > 0 and epoch % trainer.save_freq == 0:
                self._save()
        if not self._stop.is_set():
            self._validate()
        self._save()
        self._ledger.merge()
        self._progress.phase("done")
        return {
            "epochs": self._state.epoch,
            "steps": self._state.step,
            "checkpoint": str(self._saved) if self._saved else None,
            "stopped": self._state.epoch < trainer.total_epochs,
            "metrics": self._last,
        }

    def _finishes(self, epoch: Callable[[], None]) -> bool:
        """Run an epoch; False where it was given up before it changed a model.

        A hook that fails too often ends the run, but not what was learnt before. The pool is as it
        was then: it changes after the models.
        """
        before = self._state.to_json()
        try:
            epoch()
        except InterruptedError:
            self._state.load_json(before)
            return False
        except HookError:
            if not self._runner.models_changed:
                self._state.load_json(before)
                self._save()
            raise
        return True

    def _restore(self) -> None:
        """Become the run of the newest checkpoint; without one, a run that has not begun."""
        if not self._settings.resume:
            return
        checkpoint.clean(self._checkpoints)
        found = checkpoint.latest(self._checkpoints)
        if found is not None:
            saved = checkpoint.read_state(found)
            self._state.load_json(saved)
            pool = checkpoint.read_pool(found, saved.get(checkpoint.POOL_DIGEST, ""))
            self._state.pool.load_lines(pool)
            _refuse_another_state(found, saved, self._state)
            self._saved = found
            self._progress.epoch, self._progress.step = self._state.epoch, self._state.step
        self._ledger.rewind(self._state.epoch, self._state.ledger_rows)
        unreadable = rewind(self._settings.run_dir, self._state.epoch if found else None)
        if unreadable:
            self._progress.warning(
                "metrics-unreadable", f"{unreadable} lines of metrics.jsonl could not be read"
            )
        if found is not None:
            self._progress.phase("start", detail=f"restoring epoch {self._state.epoch}")
            checkpoint.load_roles(found, self._roles)

    def _save(self) -> None:
        epoch = self._state.epoch
        folder = checkpoint.folder_for(self._checkpoints, epoch)
        if epoch == 0 or (self._saved == folder and folder.is_dir()):
            return
        self._progress.phase("checkpoint")
        validated = self._validated_epoch == epoch
        self._saved = checkpoint.save(
            self._checkpoints,
            epoch,
            self._roles,
            self._state.to_json(),
            self._state.pool.to_lines(),
            validation=self._last if validated else None,
            config=self._config,
        )
        self._progress.checkpoint(self._saved)
        checkpoint.prune(
            self._checkpoints,
            self._settings.agent.trainer.max_actor_ckpt_to_keep,
            keep_best=self._settings.genenv["keep_best"],
        )

    def _validate(self) -> None:
        """Score the validation data; nothing where there is none, or where the user stops it.

        A hook that fails too often ends the run here too, with the epoch saved.
        """
        if not self._validation_tasks:
            return
        try:
            with contextlib.suppress(InterruptedError):
                self._score_validation()
        except HookError:
            self._save()
            raise

    def _score_validation(self) -> None:
        self._progress.phase("validation", role="agent")
        kwargs = self._settings.agent.actor_rollout_ref.rollout.val_kwargs
        rollout = self._roles["agent"].rollout(
            self._stop,
            prompts=[task.messages for task in self._validation_tasks],
            n=int(kwargs.n),
            validate=True,
            **self._runner.agent.overlap(self._validation_tasks),
        )
        genenv = self._settings.genenv
        groups = score_groups(
            self._scorer,
            self._validation_tasks,
            rollout["rows"],
            success_threshold=genenv["success_threshold"],
            on_failure=genenv["hooks"]["on_failure"],
        )
        self._last = reward_metrics("val", groups)
        self._validated_epoch = self._state.epoch
        self._progress.metrics("validation", self._last)
        write_rollouts(
            self._settings.run_dir / "rollouts",
            f"validation-{self._state.epoch:06d}",
            response_rows(self._state.epoch, "validation", groups),
        )
        refuse_failed_scores(groups, genenv["hooks"])


def _refuse_another_state(found: Path, saved: dict[str, Any], state: LoopState) -> None:
    digest = checkpoint.digest_of(state.pool.to_lines())
    # Through JSON, which knows no tuples.
    if json.loads(json.dumps(state.to_json() | {checkpoint.POOL_DIGEST: digest})) != saved:
        raise DataError(
            f"{found} does not restore to the state that was saved",
            code="checkpoint-damaged",
            hint="it is another version's; resume the run with the genenv that began it",
        )
