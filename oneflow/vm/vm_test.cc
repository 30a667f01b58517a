// The vm's promises, with kernels made for the purpose: order, inline or queued, poison, host-visible
// memory, run-ahead, shutdown.
#include "oneflow/vm/vm.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "oneflow/vm/vm_testlib.h"

namespace oneflow {
namespace {

Maybe<void> RunThrow(const KernelCall& call) { throw std::runtime_error("from a library"); }
const Kernel kThrow{"throw.test", &RunThrow, nullptr, &CostTiny, nullptr};

// out = sum of all inputs.
Maybe<void> RunSum(const KernelCall& call) {
  float sum = 0;
  for (int i = 0; i < call.num_inputs; ++i) { sum += *call.inputs[i].Data<float>(); }
  *call.outputs[0].Data<float>() = sum;
  return Ok();
}

TEST_F(VmTest, AQueuedOpMayHaveHundredsOfInputs) {
  const Kernel sum{"sum.test", &RunSum, nullptr, &CostLong, nullptr};
  const Vec one = Make(1);
  const Vec out = Make(1);
  *one.data() = 1;
  const int64_t stride = 1;
  constexpr int kMany = 300;
  ArrayView views[kMany + 1];
  Storage* storages[kMany + 1];
  for (int i = 0; i <= kMany; ++i) {
    const Vec& vec = i < kMany ? one : out;
    views[i] = {vec.data(), &vec.n, &stride, 1, DataType::kFloat, true, true};
    storages[i] = vec.storage.get();
  }
  OpCall call;
  call.op = sum.name;
  call.kernel = &sum;
  call.call.inputs = views;
  call.call.num_inputs = kMany;
  call.call.outputs = views + kMany;
  call.call.num_outputs = 1;
  call.reads = storages;
  call.num_reads = kMany;
  call.writes = storages + kMany;
  call.num_writes = 1;
  call.stream = stream_;
  vm_->SetMode(Vm::Mode::kQueued);
  CHECK_JUST(vm_->Issue(&call));
  CHECK_JUST(vm_->SyncRead(out.storage.get()));
  EXPECT_EQ(*out.data(), kMany);
}

TEST_F(VmTest, TinyOpRunsOnTheIssuingThread) {
  const Vec x = Make(4);
  const Vec y = Make(4);
  CHECK_JUST(Issue(kFill, {}, x, {0, 3}));
  CHECK_JUST(Issue(kAffine, {x}, y, {2, 1}));
  EXPECT_EQ(last_thread.load(), std::this_thread::get_id());
  EXPECT_EQ(y.data()[3], 7.0f);
}

TEST_F(VmTest, LongOpRunsOnTheStreamAndReadersWait) {
  const Vec x = Make(4);
  const Vec y = Make(4);
  CHECK_JUST(Issue(kFill, {}, x, {0, 3}));
  CHECK_JUST(Issue(kAffineLong, {x}, y, {2, 1}));
  CHECK_JUST(vm_->SyncRead(y.storage.get()));
  EXPECT_NE(last_thread.load(), std::this_thread::get_id());
  EXPECT_EQ(y.data()[0], 7.0f);
}

TEST_F(VmTest, TinyOpBehindAQueuedOneIsQueuedToo) {
  const Vec x = Make(4);
  const Vec y = Make(4);
  CHECK_JUST(Issue(kFill, {}, x, {0, 1}));
  gate_open = false;
  CHECK_JUST(Issue(kAffineLong, {x}, y, {1, 1}));
  CHECK_JUST(Issue(kAffine, {y}, x, {1, 1}));  // writes what the first one reads
  EXPECT_FALSE(stream_->Idle());
  EXPECT_EQ(x.data()[0], 1.0f);
  gate_open = true;
  CHECK_JUST(vm_->SyncRead(x.storage.get()));
  EXPECT_EQ(x.data()[0], 3.0f);
}

TEST_F(VmTest, InlineFailureIsReturnedAtOnce) {
  const Vec x = Make(4);
  const Maybe<void> failed = Issue(kFailTiny, {}, x);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error()->message(), "[fail] on purpose");
  EXPECT_EQ(failed.error()->op(), "fail.tiny");
}

TEST_F(VmTest, AnExceptionOfALibraryBecomesAnError) {
  const Maybe<void> failed = Issue(kThrow, {}, Make(1));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error()->kind(), ErrorKind::kInternal);
  EXPECT_NE(failed.error()->message().find("from a library"), std::string::npos);
}

TEST_F(VmTest, QueuedFailurePoisonsAndSpreadsAndAFullOverwriteClears) {
  const Vec x = Make(4);
  const Vec y = Make(4);
  CHECK_JUST(Issue(kFail, {}, x));
  CHECK_JUST(Issue(kAffineLong, {x}, y));
  const Maybe<void> read = vm_->SyncRead(y.storage.get());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error()->message(), "[fail] on purpose");
  ASSERT_FALSE(vm_->SyncRead(y.storage.get()).ok());  // every time
  CHECK_JUST(Issue(kFill, {}, y, {0, 5}));
  CHECK_JUST(vm_->SyncRead(y.storage.get()));
  EXPECT_EQ(y.data()[0], 5.0f);
}

TEST_F(VmTest, AFailedUpdateInPlaceKeepsTheValueAndReachesTheNextSync) {
  const Vec x = Make(4);
  CHECK_JUST(Issue(kFill, {}, x, {0, 5}));
  CHECK_JUST(Issue(kFail, {x}, x, {}, OnFailure::kKeepTarget));
  CHECK_JUST(vm_->SyncRead(x.storage.get()));
  EXPECT_EQ(x.data()[0], 5.0f);
  const Maybe<void> synced = vm_->Sync();
  ASSERT_FALSE(synced.ok());
  EXPECT_EQ(synced.error()->message(), "[fail] on purpose");
  CHECK_JUST(vm_->Sync());  // once
}

TEST_F(VmTest, HostVisibleMemoryIsWrittenBeforeTheCallReturns) {
  const Vec x = Make(4);
  float memory[4] = {1, 2, 3, 4};
  const Vec host = {Storage::Import(Device(), memory, sizeof(memory), nullptr, [](void*) {}), 4};
  for (const Vm::Mode mode : {Vm::Mode::kAuto, Vm::Mode::kQueued, Vm::Mode::kRandom}) {
    vm_->SetMode(mode);
    memory[0] = 1;
    CHECK_JUST(Issue(kAffineLong, {host}, x, {2, 0}));
    memory[0] = 0;
    CHECK_JUST(vm_->SyncRead(x.storage.get()));
    EXPECT_EQ(x.data()[0], 2.0f);
  }
}

TEST_F(VmTest, QueuedFailureOnHostVisibleMemoryIsReturnedByTheCall) {
  float memory[1] = {1};
  const Vec host = {Storage::Import(Device(), memory, 4, nullptr, [](void*) {}), 1};
  vm_->SetMode(Vm::Mode::kQueued);
  EXPECT_FALSE(Issue(kFail, {}, host).ok());
}

TEST_F(VmTest, ImportedMemoryIsReleasedOnceWithItsLastHandle) {
  static int released;
  released = 0;
  float memory[1];
  {
    StorageRef a = Storage::Import(Device(), memory, 4, nullptr, [](void*) { ++released; });
    StorageRef b = a;
    a = StorageRef();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST_F(VmTest, AnotherStreamWaitsForTheWriter) {
  Stream* other = CHECK_JUST(vm_->NewStream(Device(), "other"));
  const Vec x = Make(4);
  const Vec y = Make(4, other);
  gate_open = false;
  const Vec seed = Make(4);
  CHECK_JUST(Issue(kFill, {}, seed, {0, 1}));
  CHECK_JUST(Issue(kAffineLong, {seed}, x, {1, 1}));
  CHECK_JUST(Issue(kFill, {}, y, {0, 0}, OnFailure::kPoison, other));
  CHECK_JUST(Issue(kAffine, {x}, y, {10, 0}, OnFailure::kPoison, other));
  EXPECT_FALSE(other->Idle());
  gate_open = true;
  CHECK_JUST(vm_->SyncRead(y.storage.get()));
  EXPECT_EQ(y.data()[0], 20.0f);
}

TEST_F(VmTest, AWriterWaitsForReadersOfAnotherStream) {
  Stream* other = CHECK_JUST(vm_->NewStream(Device(), "reader"));
  const Vec x = Make(4);
  const Vec y = Make(4, other);
  CHECK_JUST(Issue(kFill, {}, x, {0, 3}));
  gate_open = false;
  CHECK_JUST(Issue(kAffineLong, {x}, y, {1, 0}, OnFailure::kPoison, other));
  CHECK_JUST(Issue(kFill, {}, x, {0, 9}));  // small, its stream is idle, and yet it must wait
  EXPECT_EQ(x.data()[0], 3.0f);
  gate_open = true;
  CHECK_JUST(vm_->Sync());
  EXPECT_EQ(y.data()[0], 3.0f);
  EXPECT_EQ(x.data()[0], 9.0f);
}

TEST_F(VmTest, ScratchIsProvided) {
  for (const Vm::Mode mode : {Vm::Mode::kInline, Vm::Mode::kQueued}) {
    vm_->SetMode(mode);
    const Vec x = Make(4);
    CHECK_JUST(Issue(kScratch, {}, x, {0, 2}));
    CHECK_JUST(vm_->SyncRead(x.storage.get()));
    EXPECT_EQ(x.data()[0], 2.0f);
  }
}

TEST_F(VmTest, EmptyingTheCacheLeavesWhatQueuedInstructionsUse) {
  Allocator* pool = CHECK_JUST(GetAllocator(Device()));
  gate_open = false;
  {
    const Vec x = Make(int64_t{1} << 20);
    CHECK_JUST(Issue(kLarge, {}, x, {0, 3}));  // waits at the gate
  }
  pool->EmptyCache();  // output and scratch are free, but not yet used
  gate_open = true;
  CHECK_JUST(vm_->Sync());
  pool->EmptyCache();
}

TEST_F(VmTest, RunAheadIsBounded) {
  vm_->SetMode(Vm::Mode::kQueued);
  const Vec x = Make(1);
  CHECK_JUST(Issue(kFill, {}, x, {0, 0}));
  const int n = static_cast<int>(3 * Stream::kRunAhead);
  for (int i = 0; i < n; ++i) {
    CHECK_JUST(Issue(kAffine, {x}, x, {1, 1}));
    ASSERT_LE(stream_->issued() - StreamClock::Completed(stream_->index()), Stream::kRunAhead);
  }
  CHECK_JUST(vm_->SyncRead(x.storage.get()));
  EXPECT_EQ(x.data()[0], static_cast<float>(n));
}

TEST_F(VmTest, MemoryFreedWhileQueuedIsNotOverwrittenByTheHost) {
  vm_->SetMode(Vm::Mode::kQueued);
  const Vec out = Make(4);
  {
    const Vec x = Make(4);
    CHECK_JUST(Issue(kFill, {}, x, {0, 7}));
    gate_open = false;
    CHECK_JUST(Issue(kAffineLong, {x}, out, {1, 0}));
  }  // x's block goes back to the pool of the compute stream here
  const StorageRef host = CHECK_JUST(Storage::Allocate(Device(), 16, kHostStream));
  for (int i = 0; i < 4; ++i) { static_cast<float*>(host->data())[i] = -1; }
  gate_open = true;
  CHECK_JUST(vm_->SyncRead(out.storage.get()));
  EXPECT_EQ(out.data()[0], 7.0f);
}

// Random programs over a few vectors, in place and not, against a plain interpreter.
TEST_F(VmTest, RandomProgramsGiveTheSameBitsInEveryMode) {
  Stream* other = CHECK_JUST(vm_->NewStream(Device(), "second"));
  constexpr int kVectors = 6;
  for (const Vm::Mode mode :
       {Vm::Mode::kAuto, Vm::Mode::kInline, Vm::Mode::kQueued, Vm::Mode::kRandom}) {
    vm_->SetMode(mode);
    std::mt19937 random(7);
    std::vector<Vec> vectors;
    float expected[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      vectors.push_back(Make(3, i % 2 == 0 ? stream_ : other));
      expected[i] = static_cast<float>(i);
      CHECK_JUST(Issue(kFill, {}, vectors.back(), {0, expected[i]}));
    }
    for (int step = 0; step < 2000; ++step) {
      const auto a = random() % kVectors;
      const auto b = random() % kVectors;
      const auto out = random() % kVectors;
      const float scale = 0.5f;
      const Kernel& kernel = random() % 4 == 0 ? kAffineLong : kAffine;
      CHECK_JUST(Issue(kernel, {vectors[a], vectors[b]}, vectors[out], {scale, 0},
                       OnFailure::kPoison, random() % 3 == 0 ? other : stream_));
      expected[out] = expected[a] * scale + expected[b];
    }
    for (int i = 0; i < kVectors; ++i) {
      CHECK_JUST(vm_->SyncRead(vectors[static_cast<size_t>(i)].storage.get()));
      EXPECT_EQ(vectors[static_cast<size_t>(i)].data()[2], expected[i]);
    }
  }
}

// The positive control of the test above: it must notice an engine that ignores dependencies. The
// fault that it plants is a race, so that the thread sanitizer ends the process.
#if !defined(__SANITIZE_THREAD__)
TEST_F(VmTest, RandomProgramsWouldNoticeALostOrder) {
  Stream* other = CHECK_JUST(vm_->NewStream(Device(), "lost"));
  const Vec x = Make(3);
  const Vec y = Make(3, other);
  CHECK_JUST(Issue(kFill, {}, x, {0, 1}));
  gate_open = false;
  CHECK_JUST(Issue(kAffineLong, {x}, x, {1, 1}));
  // The record that says who wrote last is wiped, as a bug would: the reader does not wait.
  const_cast<Storage*>(x.storage.get())->RecordWrite(StreamPoint());
  vm_->SetMode(Vm::Mode::kQueued);
  std::thread opener([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate_open = true;
  });
  CHECK_JUST(Issue(kFill, {}, y, {0, 0}, OnFailure::kPoison, other));
  CHECK_JUST(vm_->SyncRead(x.storage.get()));
  const float seen = x.data()[0];
  opener.join();
  EXPECT_EQ(seen, 1.0f);  // the old value: the lost order shows
}
#endif

TEST_F(VmTest, SeveralThreadsIssueAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Vec x = Make(2);
      CHECK_JUST(Issue(kFill, {}, x, {0, static_cast<float>(t)}));
      for (int i = 0; i < 500; ++i) {
        CHECK_JUST(Issue(i % 7 == 0 ? kAffineLong : kAffine, {x}, x, {1, 1}));
      }
      CHECK_JUST(vm_->SyncRead(x.storage.get()));
      if (x.data()[1] != static_cast<float>(t + 500)) { ++wrong; }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(wrong, 0);
}

TEST_F(VmTest, AfterStopEverythingRunsInline) {
  const Vec x = Make(2);
  vm_->SetMode(Vm::Mode::kQueued);
  for (int i = 0; i < 50; ++i) { CHECK_JUST(Issue(kFill, {}, x, {0, static_cast<float>(i)})); }
  EXPECT_TRUE(vm_->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(10)));
  EXPECT_FALSE(stream_->HasThread());
  EXPECT_EQ(x.data()[0], 49.0f);
  CHECK_JUST(Issue(kAffineLong, {x}, x, {1, 1}));
  EXPECT_EQ(last_thread.load(), std::this_thread::get_id());
  EXPECT_EQ(x.data()[0], 50.0f);
  vm_->Start();
  CHECK_JUST(Issue(kAffineLong, {x}, x, {1, 1}));
  CHECK_JUST(vm_->SyncRead(x.storage.get()));
  EXPECT_EQ(x.data()[0], 51.0f);
}

TEST_F(VmTest, StopPastItsDeadlineSaysWhatIsLeft) {
  const Vec x = Make(2);
  CHECK_JUST(Issue(kFill, {}, x, {0, 0}));
  gate_open = false;
  CHECK_JUST(Issue(kAffineLong, {x}, x));
  EXPECT_FALSE(vm_->Stop(std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  EXPECT_NE(vm_->DescribeUnfinished().find("1 instructions left, running affine.long"),
            std::string::npos)
      << vm_->DescribeUnfinished();
  gate_open = true;
  EXPECT_TRUE(vm_->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(10)));
  vm_->Start();
}

TEST_F(VmTest, NoDeviceIsAClearError) {
  const Maybe<Stream*> stream = vm_->StreamFor(Device(DeviceType::kCUDA, 0));
  ASSERT_FALSE(stream.ok());
  EXPECT_NE(stream.error()->message().find("cuda:0 is not available"), std::string::npos);
}

}  // namespace
}  // namespace oneflow
