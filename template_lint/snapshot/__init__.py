"""Where files come from: a file, a folder, GGUF, standard input or a Hub revision -> Snapshot."""
