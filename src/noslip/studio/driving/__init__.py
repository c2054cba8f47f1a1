"""Driving and riding in real time: a `Helm` is what can be commanded, a `Driver` moves on by it."""
