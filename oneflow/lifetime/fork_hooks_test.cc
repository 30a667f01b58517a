#include "oneflow/lifetime/fork_hooks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "oneflow/lifetime/runtime_thread.h"

namespace oneflow {
namespace lifetime {
namespace {

std::string* trace = new std::string;

ForkHooks Traced(const std::string& name) {
  return {[name] { *trace += "<" + name; }, [name] { *trace += ">" + name; },
          [name] { *trace += "c" + name; }};
}

// One test: hooks stay for the life of the process.
TEST(ForkHooksTest, NestByOrderAndTellTheChild) {
  RegisterForkHooks(ForkOrder::kPool, Traced("p"));
  RegisterForkHooks(ForkOrder::kDrainStreams, Traced("d"));
  RegisterForkHooks(ForkOrder::kVm, Traced("v"));
  RegisterForkHooks(ForkOrder::kVm, Traced("w"));
  RegisterForkHooks(ForkOrder::kCompute, {});
  ScopedRuntimeThread thread("would-be-worker");
  EXPECT_EQ(RuntimeThreadNames().size(), 1u);

  const pid_t child = ::fork();
  if (child == 0) {
    const bool good = *trace == "<d<v<w<pcpcwcvcd" && InForkChild() && RuntimeThreadNames().empty();
    ::_exit(good ? 0 : 1);
  }
  EXPECT_EQ(*trace, "<d<v<w<p>p>w>v>d");
  EXPECT_FALSE(InForkChild());
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
