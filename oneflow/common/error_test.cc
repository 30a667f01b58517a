#include "oneflow/common/error.h"

#include <gtest/gtest.h>

#include <map>

namespace oneflow {
namespace {

TEST(ErrorTest, MakersSetKindAndMessage) {
  const std::pair<ErrorPtr, const char*> kMade[] = {
      {TypeError("[{}] {}", "add", 1), "TypeError"},
      {ValueError("[{}] {}", "add", 1), "ValueError"},
      {IndexError("[{}] {}", "add", 1), "IndexError"},
      {RuntimeError("[{}] {}", "add", 1), "RuntimeError"},
      {NotImplementedError("[{}] {}", "add", 1), "NotImplementedError"},
      {OutOfMemoryError("[{}] {}", "add", 1), "oneflow.OutOfMemoryError"},
      {InternalError("[{}] {}", "add", 1), "oneflow.InternalError"},
      {EnvironmentError("[{}] {}", "add", 1), "OSError"}};
  for (const auto& [error, name] : kMade) {
    EXPECT_STREQ(ErrorKindName(error->kind()), name);
    EXPECT_EQ(error->message(), "[add] 1");
    EXPECT_FALSE(error->read());
    EXPECT_FALSE(error->published());
  }
}

TEST(ErrorTest, OnlyABugOfOursShowsFramesAndAsksForAReport) {
  ErrorPtr bug = InternalError("impossible");
  bug->AddFrame("vm.cc", 12, "JUST(Issue())");
  bug->AddFrame("bazel-out/k8-opt/bin/api.cc", 7, "Run()");
  EXPECT_EQ(
      bug->Describe(),
      "impossible\nThis is a bug in OneFlow, please report it with these lines and, if you can, "
      "a program that shows it:\n  api.cc:7: Run()\n  vm.cc:12: JUST(Issue())");
  SetReportFacts("OneFlow 1.2.3");
  EXPECT_EQ(bug->Describe().substr(bug->Describe().size() - 17), ")\n  OneFlow 1.2.3");
  ErrorPtr mistake = ValueError("expects 1");
  mistake->AddFrame("vm.cc", 12, "JUST(Issue())");
  EXPECT_EQ(mistake->Describe(), "expects 1");
}

TEST(ErrorTest, AnOpPutsItsNameIntoWhatTheOpsInsideRefused) {
  ErrorPtr error = ValueError("[full] expects a size, got -1");
  error->Rename("ones");
  EXPECT_EQ(error->message(), "[ones] expects a size, got -1");
  EXPECT_EQ(error->op(), "ones");
  ErrorPtr bare = RuntimeError("no such device");
  bare->Rename("ones");
  EXPECT_EQ(bare->message(), "[ones] no such device");
}

TEST(ErrorTest, WhatAKernelSaidKeepsItsName) {
  ErrorPtr inlined = RuntimeError("[nll_loss] expects a class below 3, got 4");
  inlined->set_op("nll_loss");
  inlined->MarkFromKernel();
  ErrorPtr queued = RuntimeError("[nll_loss] expects a class below 3, got 4");
  queued->set_op("nll_loss");
  queued->MarkPublished();
  for (const ErrorPtr& error : {inlined, queued}) {
    error->Rename("cross_entropy");
    EXPECT_EQ(error->message(), "[nll_loss] expects a class below 3, got 4");
    EXPECT_EQ(error->op(), "nll_loss");
  }
}

TEST(ErrorTest, BracketedName) {
  EXPECT_EQ(BracketedName("[add] expects"), "add");
  EXPECT_EQ(BracketedName("[add"), "");
  EXPECT_EQ(BracketedName("add] x"), "");
  EXPECT_EQ(BracketedName(""), "");
}

TEST(ErrorTest, PrependKeepsTheMessage) {
  ErrorPtr error = ValueError("tail");
  error->PrependMessage("head: ");
  EXPECT_EQ(error->message(), "head: tail");
}

// Counts pins.
class Source : public StackSource {
 public:
  Source() { StackSource::Set(this); }
  ~Source() override { StackSource::Set(nullptr); }
  StackId Capture() override { return 1; }
  void Pin(StackId id) override { ++pins[id]; }
  void Unpin(StackId id) override { --pins[id]; }
  std::vector<StackFrame> Resolve(StackId) const override { return {}; }
  bool Evicted(StackId) const override { return false; }

  std::map<StackId, int> pins;
};

TEST(ErrorTest, PinsItsStackForItsLife) {
  Source source;
  {
    ErrorPtr error = ValueError("x");
    error->set_stack(5);
    error->set_stack(5);
    EXPECT_EQ(source.pins[5], 1);
    error->set_stack(6);
    EXPECT_EQ(source.pins[5], 0);
    EXPECT_EQ(source.pins[6], 1);
    const ErrorPtr other = error;
    error.Reset();
    EXPECT_EQ(source.pins[6], 1);
  }
  EXPECT_EQ(source.pins[6], 0);
}

}  // namespace
}  // namespace oneflow
