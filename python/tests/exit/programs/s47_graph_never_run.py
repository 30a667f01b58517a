"""47: a graph made where the module is executed, and never run; or compiled, and never run."""

import way_out

import oneflow as flow

double = flow.nn.Graph.trace(lambda x: x * 2)
if way_out.case() == "compiled":
    double._compile(flow.ones(3))
print(double.is_compiled, flush=True)
way_out.pause()
