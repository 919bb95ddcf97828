"""The compiled update: the same arithmetic as :mod:`td3core.algorithm.td3`, in one call.

Start with :mod:`~td3core.algorithm.fused.kernel`.
"""
