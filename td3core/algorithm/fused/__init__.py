"""The compiled update: the same arithmetic as :mod:`td3core.algorithm.td3`, in one call.

Its gradients are hand-written; tests compare it with that module, the reference.
Start with :mod:`~td3core.algorithm.fused.kernel`.
"""
