"""What an agent keeps while it works."""

from labkit.agent.artifacts import ArtifactStore

__all__ = ["ArtifactStore"]
