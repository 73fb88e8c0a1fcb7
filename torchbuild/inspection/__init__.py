"""Static checks of a wheel: it is read, never imported, and nothing of it is ever run.

A check is a module with ``REFERENCES`` and ``check(contents, expected)``; `torchbuild.inspection.wheel`
lists them and is where a caller begins::

    from torchbuild.inspection.wheel import describe_wheel, inspect_wheel

What a wheel is asked to be is an `ExpectedWheel`; what it is, `WheelFacts`. Outcomes are findings, never
exceptions: a hostile wheel fails, and only a file that is no archive at all raises VerifyError.
"""

__all__: list[str] = []
