"""Google Benchmark, pinned; see README.md."""

load("//tools/build_defs:distribution_archive.bzl", "distribution_archive")

VERSION = "1.7.1"

def benchmark_repository():
    distribution_archive(
        name = "google_benchmark",
        build_file = "//third_party/benchmark:benchmark.BUILD",
        debian_package = "benchmark",
        debian_suites = ["bookworm"],
        sha256 = "6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7",
        strip_prefix = "benchmark-" + VERSION,
        urls = ["https://github.com/google/benchmark/archive/refs/tags/v{}.tar.gz".format(VERSION)],
    )
