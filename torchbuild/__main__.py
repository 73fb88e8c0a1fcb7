"""``python -m torchbuild``."""

from torchbuild.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
