"""Verbs. Each module has the same names: NAME, REVISION, Plan, Result, plan, run.

`plan` is pure and made from the lock alone; `run` acts through the context and reads back what happened.
"""
