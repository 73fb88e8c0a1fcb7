"""torchbuild: one recipe in, one verified PyTorch wheel out.

Rooms, from the outside in: ``cli`` > ``pipeline`` > ``stages`` > (``inspection``, ``resolve``) >
``knowledge`` > ``model``. Only ``edges`` touches the machine, and it is reached through ``context``.
"""

__all__ = ["__version__"]

__version__: str


def __getattr__(name: str) -> str:
    """``__version__``, read when it is asked for: half of the time of ``--help`` otherwise."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  see above

    try:
        return version("torchbuild")
    except PackageNotFoundError:  # run from a checkout that nobody installed
        return "0+unknown"
