"""The command line: one module a command, one boundary for errors, and what ties all rooms together.

Results go to stdout, everything that is for a person's eyes goes to stderr. Only `torchbuild.cli.main` exits.
"""
