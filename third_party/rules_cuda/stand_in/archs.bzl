"""The flag that says for which processors device code is compiled."""

CudaArchsInfo = provider(
    doc = "The processors to compile for.",
    fields = {"gencodes": "list of values for nvcc's -gencode"},
)

def _number(arch):
    prefix, underscore, number = arch.partition("_")
    digits = number.rstrip("af")
    if prefix not in ["compute", "sm"] or not underscore or not digits.isdigit():
        fail("expects sm_NN or compute_NN, got '{}'".format(arch))
    return int(digits)

def gencodes(text):
    """Reads `sm_80;compute_90:sm_90,compute_90`: specs with `;` between them, each `[VIRTUAL:]CODE,CODE...`.

    Args:
      text: the flag's value; without VIRTUAL, the lowest of the codes is compiled for

    Returns:
      values for nvcc's -gencode, as `arch=compute_90,code=[sm_90,compute_90]`
    """
    found = []
    for spec in [s.strip() for s in text.split(";")]:
        if not spec:
            continue
        virtual, colon, codes = spec.rpartition(":")
        codes = codes.split(",")
        lowest = min([_number(code) for code in codes])
        if not colon:
            virtual = "compute_{}".format(lowest)
        if not virtual.startswith("compute_") or _number(virtual) > lowest:
            fail("'{}': cannot compile {} for {}".format(spec, ",".join(codes), virtual))
        found.append("arch={},code=[{}]".format(virtual, ",".join(codes)))
    return found

def _impl(ctx):
    return [CudaArchsInfo(gencodes = gencodes(ctx.build_setting_value))]

cuda_archs_flag = rule(
    doc = "The flag `//cuda:archs`, in rules_cuda's grammar.",
    implementation = _impl,
    build_setting = config.string(flag = True),
)
