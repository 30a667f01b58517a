"""46: a graph made where the module is executed, and run first inside a unittest."""

import unittest

import way_out

import oneflow as flow

double = flow.nn.Graph.trace(lambda x: x * 2)


class TestDouble(unittest.TestCase):
    """Runs it."""

    def test_double(self) -> None:
        self.assertEqual(double(flow.ones(3)).sum().item(), 6.0)


ended = unittest.main(argv=["s46"], exit=False, verbosity=0)
print("passed" if ended.result.wasSuccessful() else "failed", flush=True)
way_out.pause()
