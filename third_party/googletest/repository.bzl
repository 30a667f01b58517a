"""GoogleTest, pinned; see README.md."""

load("//tools/build_defs:distribution_archive.bzl", "distribution_archive")

VERSION = "1.12.1"

def googletest_repository():
    distribution_archive(
        name = "googletest",
        build_file = "//third_party/googletest:googletest.BUILD",
        debian_package = "googletest",
        debian_suites = ["bookworm"],
        sha256 = "81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2",
        strip_prefix = "googletest-release-" + VERSION,
        urls = ["https://github.com/google/googletest/archive/refs/tags/release-{}.tar.gz".format(VERSION)],
    )
