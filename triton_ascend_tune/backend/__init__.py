"""What Triton's backend discovery (3.4 and newer) loads through the entry point group ``triton.backends``.

A backend that compiles nothing and drives nothing: being discovered is how the package gets into the process.
"""
