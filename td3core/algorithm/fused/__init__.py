"""The compiled update: the same arithmetic as :mod:`td3core.algorithm.td3`, in one call.

Its gradients are written out; tests hold it to that page, which is the reference.
Start with :mod:`~td3core.algorithm.fused.kernel`.
"""
