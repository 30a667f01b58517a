"""20: stdout or stderr closed from the start, or a pipe without reader, with ops queued."""

import sys

import way_out

import oneflow as flow

case = way_out.case()
y = flow.ones(300, 300) @ flow.ones(300, 300)
if case == "stderr_closed":
    way_out.premise(sys.stderr is None, "there is a stderr")
    z = flow._C.throw_error(y, 1)  # what is to be reported
    print("printed")
else:
    way_out.premise((sys.stdout is None) == (case == "stdout_closed"), "stdout")
    print("lost")
way_out.pause()
