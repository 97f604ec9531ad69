"""Opens JupyterLab on a work folder: on this machine only, behind a token, asking nobody for news or updates.

The server is this very process, so whoever started `labkit lab` ends it by Ctrl-C or by its process id. `JUPYTER_TOKEN` sets the token.

Not handled here: what the folder holds, see `workfolder`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from labkit.workfolder import FIRST, MEMORY

NO_NEWS = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}


def arguments(folder: Path, *, browser: bool, port: int) -> list[str]:
    """What JupyterLab is started with."""
    quiet = [] if browser else ["--no-browser"]
    # A container's only user is often root, and the server refuses that user unless told.
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    address = ["--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"]
    return [*quiet, *root, *address, f"--ServerApp.root_dir={folder.resolve()}", f"--LabApp.default_url=/lab/tree/{FIRST}"]


def serve(folder: Path, *, browser: bool = True, port: int = 8888) -> int:
    """Run JupyterLab until it is stopped; `ModuleNotFoundError` where it is not installed."""
    from jupyterlab.labapp import LabApp

    config = folder.resolve() / MEMORY / "jupyter"
    (config / "labconfig").mkdir(parents=True, exist_ok=True)
    (config / "labconfig" / "page_config.json").write_text(json.dumps(NO_NEWS))
    # subtle: the server looks for its page's settings only along this path, and only at its start.
    os.environ.setdefault("JUPYTERLAB_WORKSPACES_DIR", str(config / "workspaces"))  # another folder's tabs are not this one's
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join([str(config), os.environ.get("JUPYTER_CONFIG_PATH", "")]).rstrip(os.pathsep)
    LabApp.launch_instance(arguments(folder, browser=browser, port=port))
    return 0
