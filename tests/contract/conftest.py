"""The contract of a stock tuner, checked on the made-up device of ``tuning_fakes``."""

from tuning_fakes import world  # noqa: F401
