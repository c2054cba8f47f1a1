"""The studio: a page in the browser on which a model is played with, served on this machine only.

    Choice (what a page has chosen) ──► Session (simulates the newest one) ──► Page (shows it)

| folder | holds |
|---|---|
| `choosing` | the choice, and the knobs by which it is made |
| `running` | models at hand, the worker, the run of a choice |
| `driving` | the same in real time, by the commands of a driver |
| `page` | panels, picture, plots, files: all that knows a browser, with `server` |

Each imports only from those above it.
"""
