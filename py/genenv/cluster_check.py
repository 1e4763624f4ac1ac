"""What keeps a run from working on a joined Ray cluster, found before a role starts.

Each node is asked once, by a task that runs there: its versions, the folders it sees, its Node.js.
The judgements are plain functions of the answers.
"""

import contextlib
import hashlib
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from genenv.errors import ConfigError, HookError, WorkerError

# What must be the same everywhere: tensors, pickles and messages cross between nodes.
_DISTRIBUTIONS = ("ray", "verl", "vllm", "torch", "transformers", "transferqueue")
_MINIMUM_NODE_JS = (20, 19)
_ANSWER_SECONDS = 60.0
_FREE_SECONDS = 30.0
# veRL reserves so many processors for each device (ResourcePoolManager.max_colocate_count).
CPUS_A_DEVICE = 3


@dataclass(frozen=True)
class NodeReport:
    """A node's own word.

    Attributes:
        node: its address.
        versions: by distribution; None where it is not installed.
        unseen: the paths that are not there, or do not hold what was written.
        node_js: version of its Node.js, None where there is none.
        hooks: why it does not reach the hook host; None where it does, or need not.
    """

    node: str
    versions: Mapping[str, str | None]
    unseen: Sequence[str]
    node_js: str | None
    hooks: str | None = None


@dataclass(frozen=True)
class Need:
    """What a role has to have at once: ``nodes`` nodes with ``devices`` free devices each."""

    role: str
    nodes: int
    devices: int


@dataclass(frozen=True)
class Free:
    """What a node has free, and in all."""

    node: str
    devices: float
    all_devices: float
    cpus: float


def own_versions() -> dict[str, str | None]:
    """Versions of what must be equal on every node, and a digest of this package's own source."""
    versions: dict[str, str | None] = {}
    for name in _DISTRIBUTIONS:
        versions[name] = None
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    versions["genenv"] = _source_digest()
    return versions


def _source_digest() -> str:
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def report(
    node: str, mark: tuple[str, str], paths: Sequence[str], hooks: tuple[str, str] | None
) -> NodeReport:
    """Runs on the node itself.

    Args:
        node: the name it gets in messages.
        mark: a file in the run's folder, and the text in it.
        paths: folders that must be there.
        hooks: address and token of the hook host that it has to reach.
    """
    unseen = [path for path in paths if not Path(path).exists()]
    file, text = mark
    try:
        found = Path(file).read_text()
    except OSError:
        found = None
    if found != text:
        unseen.insert(0, str(Path(file).parent))
    return NodeReport(node, own_versions(), unseen, _node_js(), hooks and _hooks_problem(*hooks))


def _hooks_problem(address: str, token: str) -> str | None:
    from genenv.hooks import HookClient

    try:
        with HookClient(address, token, timeout_s=20.0) as client:
            client.describe()
    except HookError as error:
        return str(error)
    return None


def _node_js() -> str | None:
    program = shutil.which("node")
    if program is None:
        return None
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return result.stdout.strip().removeprefix("v") or None


def ask_nodes(
    run_dir: Path, paths: Sequence[str], hooks: tuple[str, str] | None
) -> list[NodeReport]:
    """Every live node's report; the caller is connected to the cluster.

    Raises:
        WorkerError: nodes that gave none within a minute, by address.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    run_dir.mkdir(parents=True, exist_ok=True)
    file = run_dir / f".seen-{uuid.uuid4().hex}"
    text = uuid.uuid4().hex
    file.write_text(text)
    ask = ray.remote(num_cpus=0, max_retries=0)(report)
    waiting = {}
    try:
        for node in ray.nodes():
            if node["Alive"]:
                name = node["NodeManagerAddress"]
                here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                answer = ask.options(scheduling_strategy=here).remote(
                    name, (str(file), text), list(paths), hooks
                )
                waiting[answer] = name
        done, late = ray.wait(
            list(waiting), num_returns=len(waiting), timeout=_ANSWER_SECONDS, fetch_local=False
        )
        if late:
            names = ", ".join(sorted(waiting[answer] for answer in late))
            raise WorkerError(
                f"these nodes of the Ray cluster gave no answer in {_ANSWER_SECONDS:.0f} s: "
                f"{names}",
                code="node-silent",
                hint="look into Ray's logs there; ray status says what the nodes are doing",
            )
        try:
            return ray.get(done)
        except Exception as error:
            raise WorkerError(
                f"a node of the Ray cluster could not run genenv's Python: {error}",
                code="node-silent",
                hint="start every node's Ray from the environment that npx genenv setup makes",
            ) from error
    finally:
        file.unlink(missing_ok=True)


def refuse_other_versions(reports: Sequence[NodeReport], own: Mapping[str, str | None]) -> None:
    """Raise where a node's Ray, veRL, vLLM, torch or genenv is not this machine's.

    Raises:
        ConfigError: every difference, by node.
    """
    differences = [
        f"{name} {version or 'missing'} on {node.node} ({own[name]} here)"
        for node in reports
        for name, version in node.versions.items()
        if version != own[name]
    ]
    if differences:
        raise ConfigError(
            f"versions differ between this machine and the Ray cluster: {'; '.join(differences)}",
            code="version-mismatch",
            hint="run npx genenv setup on those nodes and start their Ray from its environment",
        )


def refuse_unseen_paths(reports: Sequence[NodeReport]) -> None:
    """Raise where a node does not see a folder that its workers read or write.

    Raises:
        ConfigError: the folders, by node.
    """
    unseen = [f"{path} on {node.node}" for node in reports for path in node.unseen]
    if unseen:
        raise ConfigError(
            f"nodes of the Ray cluster do not see these folders: {'; '.join(unseen)}",
            code="path-not-shared",
            hint="put the run (trainer.default_local_dir) and the models on a file system that "
            "every node mounts at the same path; a hub id is fetched by each node itself",
        )


def refuse_unreached_hooks(reports: Sequence[NodeReport]) -> None:
    """Raise where a node's reward workers would not reach this machine's hooks.

    Raises:
        ConfigError: these nodes, with what they met.
    """
    lost = [f"{node.node}: {node.hooks}" for node in reports if node.hooks is not None]
    if lost:
        raise ConfigError(
            f"nodes of the Ray cluster do not reach the hooks on this machine: {'; '.join(lost)}",
            code="hooks-unreached",
            hint="set genenv.hooks.address to an address (and a port that the firewall lets "
            "through) that they reach, or genenv.hooks.placement=node",
        )


def refuse_missing_node_js(reports: Sequence[NodeReport]) -> None:
    """Raise where ``genenv.hooks.placement`` is node and a node has no Node.js to run hooks with.

    Raises:
        ConfigError: these nodes, with what they have.
    """
    lacking = [
        f"{node.node} has {'Node.js ' + node.node_js if node.node_js else 'no Node.js'}"
        for node in reports
        if node.node_js is None or _version(node.node_js) < _MINIMUM_NODE_JS
    ]
    if lacking:
        wanted = ".".join(map(str, _MINIMUM_NODE_JS))
        raise ConfigError(
            f"genenv.hooks.placement is node, and {'; '.join(lacking)}",
            code="no-node-js",
            hint=f"install Node.js {wanted} or later there, on the PATH that Ray was started with; "
            "or set genenv.hooks.placement=driver",
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def unplaced(needs: Sequence[Need], free: Sequence[Free]) -> list[Need]:
    """The needs that find no place, the largest first; veRL places each share on one node."""
    left = [[node.devices, node.cpus] for node in free]
    out = []
    for need in sorted(needs, key=lambda need: need.devices, reverse=True):
        found = 0
        for _ in range(need.nodes):
            fitting = [
                has
                for has in left
                if has[0] >= need.devices and has[1] >= need.devices * CPUS_A_DEVICE
            ]
            if not fitting:
                break
            # The tightest fit leaves the large places to the large.
            chosen = min(fitting, key=lambda has: has[0])
            chosen[0] -= need.devices
            chosen[1] -= need.devices * CPUS_A_DEVICE
            found += 1
        if found < need.nodes:
            out.append(need)
    return out


def refuse_unplaceable(
    needs: Sequence[Need],
    look: Callable[[], Sequence[Free]],
    *,
    timeout_s: float = _FREE_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait for the devices that a run ended a moment ago still holds, but not for ever.

    Raises:
        ConfigError: what is asked for, what each node has, what is missing.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        free = look()
        lacking = unplaced(needs, free)
        if not lacking:
            return
        if time.monotonic() >= deadline or not _could_ever(needs, free):
            break
        sleep(1.0)
    asked = "; ".join(f"{need.role} {need.nodes} x {need.devices}" for need in needs)
    has = "; ".join(
        f"{node.node} {node.devices:g} of {node.all_devices:g} free, {node.cpus:g} processors"
        for node in free
    )
    missing = " and ".join(f"{n.nodes} x {n.devices} for the {n.role}" for n in lacking)
    raise ConfigError(
        f"the Ray cluster has no place for this run. Nodes x GPUs asked for: {asked}. "
        f"GPUs there: {has or 'none'}. No place for {missing}",
        code="no-place",
        hint="lower trainer.nnodes or trainer.n_gpus_per_node (genenv.env. for the environment), "
        "share the GPUs (genenv.share_gpus=true), or add nodes; veRL takes "
        f"{CPUS_A_DEVICE} processors a GPU; on CPUs, ray start --num-gpus says how many roles "
        "a node takes",
    )


def _could_ever(needs: Sequence[Need], free: Sequence[Free]) -> bool:
    """Whether a cluster with nothing else on it would have room."""
    empty = [Free(n.node, n.all_devices, n.all_devices, float("inf")) for n in free]
    return not unplaced(needs, empty)


def look_around() -> list[Free]:
    """What the nodes of the connected cluster have free now."""
    import ray

    available = ray._private.state.available_resources_per_node()
    return [
        Free(
            node["NodeManagerAddress"],
            available.get(node["NodeID"], {}).get("GPU", 0.0),
            node["Resources"].get("GPU", 0.0),
            available.get(node["NodeID"], {}).get("CPU", 0.0),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def refuse_busy_cluster() -> None:
    """Raise where another veRL run has its batches in the cluster: TransferQueue is one for all.

    Raises:
        WorkerError: it is still there after ``_FREE_SECONDS``.
    """
    import ray

    deadline = time.monotonic() + _FREE_SECONDS
    while time.monotonic() < deadline:
        try:
            ray.get_actor("TransferQueueController", namespace="transfer_queue")
        except ValueError:
            return
        time.sleep(1.0)
    raise WorkerError(
        "another veRL run works on this Ray cluster, and TransferQueue 0.1 is one for all of them",
        code="cluster-busy",
        hint="wait for it to end, or start a cluster of its own for this run",
    )


def check_cluster(
    configs: Mapping[str, Any],
    run_dir: Path,
    *,
    share: bool,
    hooks: tuple[str, str] | None,
    hooks_on_nodes: bool,
) -> None:
    """Everything that keeps a run from working on the cluster this process is connected to.

    Args:
        configs: veRL's configuration by role.
        run_dir: the run's folder, which every node has to see.
        share: whether the roles take turns on the same devices.
        hooks: address and token of the hook host that reward workers reach from any node.
        hooks_on_nodes: whether every node runs hooks itself.

    Raises:
        ConfigError, WorkerError: the first thing found, by node.
    """
    refuse_busy_cluster()
    reports = ask_nodes(run_dir, _local_folders(configs), hooks)
    refuse_other_versions(reports, own_versions())
    refuse_unseen_paths(reports)
    refuse_unreached_hooks(reports)
    if hooks_on_nodes:
        refuse_missing_node_js(reports)
    refuse_unplaceable(needs_of(configs, share=share), look_around)


def _local_folders(configs: Mapping[str, Any]) -> list[str]:
    """Models that are folders; a hub id is fetched on each node."""
    paths = {str(config.actor_rollout_ref.model.path) for config in configs.values()}
    return sorted(path for path in paths if Path(path).is_dir())


def needs_of(configs: Mapping[str, Any], *, share: bool) -> list[Need]:
    """What the roles ask for; roles that share their devices ask once.

    Raises:
        ConfigError: roles that are to share devices ask for different ones.
    """
    needs = [
        Need(role, int(config.trainer.nnodes), int(config.trainer.n_gpus_per_node))
        for role, config in configs.items()
    ]
    if not share:
        return needs
    if len({(need.nodes, need.devices) for need in needs}) > 1:
        asked = " and ".join(f"{need.role} {need.nodes} x {need.devices}" for need in needs)
        raise ConfigError(
            f"roles that share their GPUs need the same ones, not nodes x GPUs {asked}",
            code="share-differs",
            hint="leave out genenv.env.trainer.nnodes and n_gpus_per_node, or set "
            "genenv.share_gpus=false",
        )
    return needs[:1]
