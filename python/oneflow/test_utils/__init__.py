"""What tests of programs on OneFlow import: random comparison with PyTorch, and helpers.

`automated_test_util` needs PyTorch; `test_util` needs nothing.
"""
