"""What veRL loads in each of its processes (``VERL_USE_EXTERNAL_MODULES=genenv.plugin``).

On a CPU it registers the platform and bends the few places that assume an accelerator; on a GPU
veRL's own platform serves and nothing is touched. Importing it must stay cheap and free of cycles:
veRL imports it while its own package is still loading.
"""

import os
import threading

from tqdm import tqdm

# A progress bar makes a named semaphore, which stays in /dev/shm when Ray kills its process.
# No process shares its bars with another here.
tqdm.set_lock(threading.RLock())

if os.environ.get("VERL_PLATFORM") == "cpu":
    from genenv.plugin import cpu_patches, cpu_platform

    cpu_patches.apply()

if os.environ.get("GENENV_FORK_SERVER"):
    # vLLM spawns its engine and workers with multiprocessing: let them fork from the warm server.
    import multiprocessing.spawn

    from genenv.forkserver.client import executable

    multiprocessing.spawn.set_executable(executable())

__all__ = ["cpu_patches", "cpu_platform"]
