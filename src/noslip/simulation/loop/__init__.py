"""The integration loop, written once and printed as LLVM text for one lane, several, or a GPU."""
