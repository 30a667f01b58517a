#include "oneflow/lifetime/unread_errors.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "oneflow/lifetime/fork_hooks.h"

namespace oneflow {
namespace lifetime {
namespace {

class UnreadErrorsTest : public ::testing::Test {
 protected:
  UnreadErrorsTest() {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    ForgetUnreadErrors();
    ::unsetenv("ONEFLOW_UNREAD_ERRORS");
  }
};
using UnreadErrorsDeathTest = UnreadErrorsTest;

TEST_F(UnreadErrorsTest, ReadErrorsAreNotReported) {
  ErrorPtr read = RuntimeError("[relu] expects joy");
  ErrorPtr unread = ValueError("[add] expects a friend");
  RegisterRootFailure(read);
  RegisterRootFailure(unread);
  read->MarkRead();
  EXPECT_EQ(
      UnreadErrorReport(),
      "oneflow: an error was never read by the program:\nValueError: [add] expects a friend\n");
  unread->MarkRead();
  EXPECT_EQ(UnreadErrorReport(), "");
}

TEST_F(UnreadErrorsTest, ReadAfterRenderingIsRead) {
  ErrorPtr error = RuntimeError("late");
  RegisterRootFailure(error);
  RenderUnreadErrors();
  EXPECT_NE(UnreadErrorReport(), "");
  error->MarkRead();
  EXPECT_EQ(UnreadErrorReport(), "");
}

TEST_F(UnreadErrorsTest, KeepsTwentyAndCountsTheRest) {
  for (int i = 0; i < 25; ++i) { RegisterRootFailure(RuntimeError("error {}", i)); }
  const std::string report = UnreadErrorReport();
  EXPECT_NE(report.find("25 errors were never read"), std::string::npos);
  EXPECT_NE(report.find("error 19\n... and 5 more\n"), std::string::npos);
}

// Names one line, as a recorder of stacks would.
class OneLine : public StackSource {
 public:
  StackId Capture() override { return 5; }
  void Pin(StackId) override {}
  void Unpin(StackId) override {}
  std::vector<StackFrame> Resolve(StackId) const override {
    StackFrame frame;
    frame.file = "train.py";
    frame.function = "step";
    frame.line = 12;
    return {frame};
  }
  bool Evicted(StackId) const override { return false; }
};

TEST_F(UnreadErrorsTest, StackIsKeptAfterTheSourceIsGone) {
  OneLine source;
  StackSource::Set(&source);
  ErrorPtr error = RuntimeError("failed");
  error->set_stack(5);
  RegisterRootFailure(error);
  RenderUnreadErrors();
  StackSource::Set(nullptr);
  EXPECT_NE(UnreadErrorReport().find("File \"train.py\", line 12, in step\n"), std::string::npos);
}

void LeaveWith(int status, bool unread) {
  InstallUnreadErrorReport();
  if (unread) { RegisterRootFailure(RuntimeError("[relu] failed")); }
  // Output of the C library that nobody flushed: must come out before the report.
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::setvbuf(stdout, nullptr, _IOFBF, 4096);
  std::printf("last words\n");
  std::exit(status);
}

TEST_F(UnreadErrorsDeathTest, StatusZeroBecomesOne) {
  EXPECT_EXIT(LeaveWith(0, true), ::testing::ExitedWithCode(1),
              "last words\noneflow: an error was never read by the program:\n"
              "RuntimeError: \\[relu\\] failed");
}

TEST_F(UnreadErrorsDeathTest, AnotherStatusIsKept) {
  EXPECT_EXIT(LeaveWith(3, true), ::testing::ExitedWithCode(3), "\\[relu\\] failed");
}

TEST_F(UnreadErrorsDeathTest, WarnKeepsZero) {
  ::setenv("ONEFLOW_UNREAD_ERRORS", "warn", 1);
  EXPECT_EXIT(LeaveWith(0, true), ::testing::ExitedWithCode(0), "\\[relu\\] failed");
}

TEST_F(UnreadErrorsDeathTest, NothingUnreadChangesNothing) {
  EXPECT_EXIT(LeaveWith(0, false), ::testing::ExitedWithCode(0), "^last words\n$");
}

TEST_F(UnreadErrorsDeathTest, AForkChildSaysNothing) {
  const auto fork_and_leave = [] {
    RegisterForkHooks(ForkOrder::kLifetime, {});
    InstallUnreadErrorReport();
    ErrorPtr error = RuntimeError("[relu] failed");
    RegisterRootFailure(error);
    const pid_t child = ::fork();
    if (child == 0) { std::exit(0); }
    int status = -1;
    ::waitpid(child, &status, 0);
    error->MarkRead();
    std::fprintf(stderr, "child %d", status);
    std::exit(0);
  };
  EXPECT_EXIT(fork_and_leave(), ::testing::ExitedWithCode(0), "^child 0$");
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
