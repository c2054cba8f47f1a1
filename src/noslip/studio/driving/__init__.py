"""The part of a drive that the page needs: where it begins, and its pictures."""
