#include "oneflow/comm/local_communicator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace oneflow {
namespace comm {
namespace {

constexpr DataType kF = DataType::kFloat;

TEST(LocalCommunicatorTest, CollectivesOfOneRankCopy) {
  LocalCommunicator comm;
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.world_size(), 1);
  const std::vector<float> in = {1, 2, 3};
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax}) {
    std::vector<float> out(3);
    CHECK_JUST(comm.AllReduce(in.data(), out.data(), 3, kF, op));
    EXPECT_EQ(out, in);
    out.assign(3, 0);
    CHECK_JUST(comm.ReduceScatter(in.data(), out.data(), 3, kF, op));
    EXPECT_EQ(out, in);
  }
  std::vector<float> out(3);
  CHECK_JUST(comm.AllGather(in.data(), out.data(), 3, kF));
  EXPECT_EQ(out, in);
  CHECK_JUST(comm.AllReduce(out.data(), out.data(), 3, kF, ReduceOp::kSum));  // in place
  CHECK_JUST(comm.Broadcast(out.data(), 3, kF, 0));
  EXPECT_EQ(out, in);
  CHECK_JUST(comm.Barrier());
  CHECK_JUST(comm.AllReduce(nullptr, nullptr, 0, kF, ReduceOp::kSum));
}

TEST(LocalCommunicatorTest, BadArgumentsLeaveItUsable) {
  LocalCommunicator comm;
  float x = 1;
  EXPECT_EQ(comm.Broadcast(&x, 1, kF, 1).error()->message(),
            "[broadcast] expects a rank from 0 to 0, got 1");
  EXPECT_EQ(comm.AllGather(&x, &x, -1, kF).error()->kind(), ErrorKind::kValue);
  EXPECT_EQ(comm.AllGather(&x, &x, int64_t{1} << 61, kF).error()->kind(), ErrorKind::kValue);
  bool b = true;
  EXPECT_EQ(comm.AllReduce(&b, &b, 1, DataType::kBool, ReduceOp::kSum).error()->kind(),
            ErrorKind::kType);
  EXPECT_FALSE(comm.Send(&x, 1, kF, -1, 0).ok());
  EXPECT_FALSE(comm.aborted());
  CHECK_JUST(comm.Barrier());
}

TEST(LocalCommunicatorTest, MessagesKeepOrderWithinATag) {
  LocalCommunicator comm;
  for (float x : {1.0f, 2.0f, 3.0f}) { CHECK_JUST(comm.Send(&x, 1, kF, 0, 7)); }
  const int64_t other = 9;
  CHECK_JUST(comm.Send(&other, 1, DataType::kInt64, 0, 8));
  int64_t got_other = 0;
  CHECK_JUST(comm.Recv(&got_other, 1, DataType::kInt64, 0, 8));
  EXPECT_EQ(got_other, 9);
  for (float x : {1.0f, 2.0f, 3.0f}) {
    float got = 0;
    CHECK_JUST(comm.Recv(&got, 1, kF, 0, 7));
    EXPECT_EQ(got, x);
  }
}

TEST(LocalCommunicatorTest, RecvWaitsForSend) {
  LocalCommunicator comm;
  float got = 0;
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const float x = 5;
    CHECK_JUST(comm.Send(&x, 1, kF, 0, 0));
  });
  CHECK_JUST(comm.Recv(&got, 1, kF, 0, 0));
  sender.join();
  EXPECT_EQ(got, 5);
}

TEST(LocalCommunicatorTest, AWaitIsBoundedAndAFailureAborts) {
  LocalCommunicator comm(0.05);
  float got = 0;
  Maybe<void> late = comm.Recv(&got, 1, kF, 0, 3);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error()->message(), "[recv] from rank 0 with tag 3 was not over after 0.05 s "
                                     "(ONEFLOW_COMM_TIMEOUT_SECONDS)");
  EXPECT_TRUE(comm.aborted());
  EXPECT_EQ(comm.Barrier().error(), late.error());
}

TEST(LocalCommunicatorTest, AbortEndsAWaitAndLaterCalls) {
  LocalCommunicator comm(60);
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    comm.Abort(RuntimeError("rank 3 died"));
    comm.Abort(RuntimeError("a second reason"));
  });
  float got = 0;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(comm.Recv(&got, 1, kF, 0, 0).error()->message(), "rank 3 died");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  aborter.join();
  EXPECT_EQ(comm.AllReduce(&got, &got, 1, kF, ReduceOp::kSum).error()->message(), "rank 3 died");
}

TEST(LocalCommunicatorTest, AMessageOfAnotherKindIsAnError) {
  LocalCommunicator comm;
  const float x[2] = {1, 2};
  CHECK_JUST(comm.Send(x, 2, kF, 0, 0));
  double got = 0;
  EXPECT_EQ(comm.Recv(&got, 1, DataType::kDouble, 0, 0).error()->message(),
            "[recv] expects 1 elements of float64, got a message of 2 elements of float32");
}

}  // namespace
}  // namespace comm
}  // namespace oneflow
