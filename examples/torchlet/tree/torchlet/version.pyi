# The module is written by tools/torchlet_version.py during the build.
__version__: str
debug: bool
cuda: str | None
git_version: str
