"""Learn to balance a bicycle below its weave speed, by random search over 256 of them at once.

Nobody tells the rider how a bicycle works. It tries small changes of its reflexes, rides 256
bicycles with them at the same time, and goes where it falls later (augmented random search).

Parameters    those of the model; speeds from 3 to 3.5 m/s, at which it falls by itself
Coordinates   lean and steer angle, their rates (rad, rad/s) and the speed (m/s) are seen
Inputs        steer_torque (N m), at most 10 in magnitude, each 0.02 s
Look for      the time upright without hands and after learning, of the 10 s that an episode lasts
Reference     [MeijaardPapadopoulosRuinaSchwab2007] for the bicycle
"""

# %% 256 bicycles in one environment of Gymnasium, stepped by native code
import numpy as np

import noslip as ns

bicycles = ns.gym.make_vec_env(task="balance", num_envs=256)
limit, period = 500, 0.02
print(bicycles.observation_space, bicycles.action_space)
rng = np.random.default_rng(1)


# %% Ride: a linear reflex each, the number of steps until it falls
def ride(reflexes, seed):
    seen, _ = bicycles.reset(seed=seed)
    total, upright = np.zeros(256), np.ones(256, dtype=bool)
    for _ in range(limit):
        torque = np.einsum("nk,nk->n", seen, reflexes)
        seen, reward, fell, _, _ = bicycles.step(torque[:, None])
        total += np.where(upright, reward, 0.0)
        upright &= ~fell
        if not upright.any():
            break
    return total


# %% Search: half of the bicycles try a change, the other half its opposite
reflex = np.zeros(5)
scale = np.array([1.0, 1.0, 1.0, 1.0, 0.0])  # the speed is no reason to steer
for k in range(13):
    changes = rng.normal(size=(128, 5)) * scale
    size = 0.3 * 0.93**k
    tried = reflex + size * np.concatenate([changes, -changes])
    better, worse = np.split(ride(tried, seed=k), 2)
    best = np.argsort(-np.maximum(better, worse))[:24]
    spread = np.concatenate([better[best], worse[best]]).std() + 1e-9
    reflex = reflex + 0.5 * ((better - worse)[best] @ changes[best]) / (len(best) * spread) * size
    if k % 4 == 0:
        print(f"round {k:2d}: best {max(better.max(), worse.max()):6.1f}, reflex {reflex.round(2)}")

# %% How long it stays upright now, with starts it has not seen; and without any reflex
alone = ride(np.zeros((256, 5)), seed=1000)
found = ride(np.tile(reflex, (256, 1)), seed=1001)
print(f"upright without hands: {period * np.median(alone):.2f} s")
print(f"share that rides to the end: {np.mean(found > 0.9 * limit):.3f}")
print(f"upright after learning: {period * np.median(found):.2f} s")
