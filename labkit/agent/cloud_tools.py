"""The tools of the running story: what an agent can do to the imaginary cloud, each under the key that it is handed.

Looking is read-only, cleaning changes one machine, and deploying is an action in the outside world.

Not handled here: the cloud itself (see `labkit.cloud`).
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.agent.state import RiskLevel
from labkit.agent.tools import Arguments, Tool, toolbox
from labkit.cloud import Cloud


class Host(Arguments):
    """Which server."""

    host: str


class App(Arguments):
    """Which application."""

    app: str


def disk_tools(cloud: Cloud) -> dict[str, Tool]:
    """Look at the disk of a server, and clean it."""
    return toolbox(
        Tool("check_disk", "Say how full the disk of a server is.", lambda given, key: cloud.check_disk(given["host"]), Host, RiskLevel.READ_ONLY),
        _on_cloud(cloud.clean_logs, "Delete old logs of a server.", Host, RiskLevel.WRITE_LOCAL),
    )


def deployment_tools(cloud: Cloud) -> dict[str, Tool]:
    """Bring an application up, piece by piece."""
    return toolbox(
        _on_cloud(cloud.create_namespace, "Create the namespace of an application.", App),
        _on_cloud(cloud.deploy_container, "Start the container of an application.", App),
        _on_cloud(cloud.configure_route, "Lead traffic to an application.", App),
    )


def _on_cloud(call: Callable[..., str], says: str, takes: type[Arguments], risk: RiskLevel = RiskLevel.EXTERNAL_ACTION) -> Tool:
    (target,) = takes.model_fields
    return Tool(call.__name__, says, lambda given, key: call(given[target], key=key), takes, risk)
