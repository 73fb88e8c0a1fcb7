"""What runs where the compilers run: the ninja that CMake finds, the configure gate, the probe.

Standard library only, and only what Python 3.8 has: these files are copied into the build and run by
the locked interpreter. They import one another by relative name and nothing else of the package.
"""
