"""The hot loops, compiled by Numba; each equals a slow twin in ``tests/``, bit for bit.

Importing a module of this package imports Numba, which takes longer than most corpora
take to search. So callers import kernels inside the function that needs them.
"""
