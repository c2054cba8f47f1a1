"""The studio: a page in the browser on which a model is played with, served on this machine only.

    Session (what one page has chosen) ──► Worker (simulates the newest choice) ──► Page (shows it)

Everything but `page`, `panels` and `server` is plain Python that knows no browser.
"""
