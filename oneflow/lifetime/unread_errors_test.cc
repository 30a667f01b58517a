#include "oneflow/lifetime/unread_errors.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "oneflow/common/stack_context.h"
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
      "oneflow: an error was never read by the program:\nValueError: [add] expects a friend\n" +
          RecorderHint());
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
  EXPECT_NE(report.find("error 19\n" + RecorderHint() + "... and 5 more\n"), std::string::npos);
}

TEST_F(UnreadErrorsTest, TheSameErrorIsPrintedOnce) {
  for (int i = 0; i < 30; ++i) { RegisterRootFailure(RuntimeError("error {}", i / 15)); }
  const std::string report = UnreadErrorReport();
  const std::string hint = RecorderHint();
  EXPECT_EQ(report, "oneflow: 30 errors were never read by the program:\nRuntimeError: error 0\n" +
                        hint + "(the same error 15 times)\nRuntimeError: error 1\n" + hint +
                        "(the same error 5 times)\n... and 10 more\n");
}

TEST_F(UnreadErrorsTest, ColorWhereItIsAskedFor) {
  ::setenv("FORCE_COLOR", "1", 1);
  RegisterRootFailure(ValueError("[add] expects a friend"));
  const std::string report = UnreadErrorReport();
  ::unsetenv("FORCE_COLOR");
  EXPECT_EQ(report.find("\x1b[1;33moneflow: an error was never read by the program:\x1b[0m\n"
                        "\x1b[1;31mValueError\x1b[0m: [add] expects a friend\n"),
            0u);
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
