"""Controllers: what turns measured and wanted motion into inputs."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
