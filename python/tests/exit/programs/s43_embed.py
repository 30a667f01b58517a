"""43: in an interpreter that another program (embed.cc) holds, whose name for
this run is the second argument.
"""

import sys

import way_out

name = sys.argv[2]
try:
    import oneflow as flow

    x = flow.ones(2, 2)
    y = flow.ones(300, 300) @ flow.ones(300, 300)
    if way_out.case() == "unread":
        z = flow._C.throw_error(y, 1)
        print(f"{name}: issued")
    else:
        print(f"{name}: sum", x.sum().item())
except ImportError as error:
    print(f"{name}: ImportError: {error}")
sys.stdout.flush()
way_out.pause()
