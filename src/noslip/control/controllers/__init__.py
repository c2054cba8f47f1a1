"""Laws that turn a deviation from the reference into inputs."""
