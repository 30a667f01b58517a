#include "oneflow/comm/rendezvous.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "oneflow/comm/connect.h"

namespace oneflow {
namespace comm {
namespace {

using Variables = std::map<std::string, std::string>;

const Variables kRankOneOfTwo = {{"RANK", "1"},
                                 {"WORLD_SIZE", "2"},
                                 {"LOCAL_RANK", "1"},
                                 {"MASTER_ADDR", "10.0.0.1"},
                                 {"MASTER_PORT", "29500"}};

Maybe<Rendezvous> Read(const Variables& variables) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : variables) { ::setenv(name.c_str(), value.c_str(), 1); }
  return ReadRendezvous();
}

std::string ErrorOf(const Variables& variables) {
  Maybe<Rendezvous> read = Read(variables);
  if (read.ok()) { return "no error"; }
  EXPECT_EQ(read.error()->kind(), ErrorKind::kValue);
  return read.error()->message();
}

TEST(RendezvousTest, NothingSetIsAProcessOnItsOwn) {
  for (const Variables& variables : {Variables{}, Variables{{"MASTER_ADDR", "a"}}}) {
    const Rendezvous r = CHECK_JUST(Read(variables));
    EXPECT_EQ(r.rank, 0);
    EXPECT_EQ(r.world_size, 1);
  }
}

TEST(RendezvousTest, ReadsAll) {
  const Rendezvous r = CHECK_JUST(Read(kRankOneOfTwo));
  EXPECT_EQ(r.rank, 1);
  EXPECT_EQ(r.world_size, 2);
  EXPECT_EQ(r.local_rank, 1);
  EXPECT_EQ(r.master_addr, "10.0.0.1");
  EXPECT_EQ(r.master_port, 29500);
}

TEST(RendezvousTest, OneProcessNeedsNoAddress) {
  EXPECT_EQ(CHECK_JUST(Read({{"RANK", "0"}, {"WORLD_SIZE", "1"}})).world_size, 1);
}

TEST(RendezvousTest, NamesWhatIsMissing) {
  EXPECT_EQ(ErrorOf({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
            "[rendezvous] expects LOCAL_RANK, MASTER_ADDR, MASTER_PORT beside RANK, WORLD_SIZE; "
            "`python -m oneflow.distributed.launch` sets them all");
  EXPECT_NE(ErrorOf({{"RANK", "1"}}).find("expects WORLD_SIZE"), std::string::npos);
}

TEST(RendezvousTest, NamesWhatMakesNoSense) {
  const std::pair<const char*, const char*> kBad[] = {
      {"WORLD_SIZE", "two"}, {"WORLD_SIZE", "0"}, {"WORLD_SIZE", "2 "}, {"RANK", "2"},
      {"RANK", "-1"},        {"LOCAL_RANK", "x"}, {"MASTER_PORT", "0"}, {"MASTER_PORT", "70000"}};
  for (const auto& [name, value] : kBad) {
    Variables variables = kRankOneOfTwo;
    variables[name] = value;
    const std::string message = ErrorOf(variables);
    EXPECT_NE(message.find("expects " + std::string(name) + " to be a whole number"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("'" + std::string(value) + "'"), std::string::npos) << message;
  }
}

TEST(ConnectTest, OneProcessIsServedAndTwoAreRefused) {
  EXPECT_STREQ(CHECK_JUST(Connect(Rendezvous()))->backend(), "local");
  Maybe<std::unique_ptr<Communicator>> refused = Connect(CHECK_JUST(Read(kRankOneOfTwo)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error()->kind(), ErrorKind::kNotImplemented);
}

}  // namespace
}  // namespace comm
}  // namespace oneflow
