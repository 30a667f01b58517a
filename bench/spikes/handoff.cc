// What it costs to run a tiny op inline, and to hand it to a worker thread instead.
//
// The op adds two floats through a function pointer. Six ways to run it:
//   inline         the issuer try-acquires the idle stream (one uncontended atomic) and runs it
//   mutex+condvar  a bounded queue behind a mutex, the worker waits on a condition variable
//   ring+futex     a single-producer ring; who finds nothing to do sleeps on a futex at once
//   ring+spin      the same, but polls for at most 20 us before it sleeps
//   ring+adaptive  the same, but the limit halves, down to 2 us, each time polling was in vain, and
//                  is 20 us again once it was not
//   ring+patient   the worker as in ring+adaptive; the issuer, who waits for a result, polls for at
//                  most 60 us, which is longer than waking the worker takes
// Three questions: what the issuer pays for each op, how long issue-and-wait takes, and from which
// amount of work on a queue is faster than inline. docs/decisions/0002-inline-or-queued.md quotes
// the answers.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/spikes/interleave.h"

namespace oneflow::spikes {
namespace {

constexpr size_t kCapacity = 1024;  // run-ahead is bounded by it

int64_t Clock(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

int64_t Now() { return Clock(CLOCK_MONOTONIC); }
int64_t ThreadCpu() { return Clock(CLOCK_THREAD_CPUTIME_ID); }

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::exit(1);
}

void CpuRelax() { __builtin_ia32_pause(); }

void BusyFor(int64_t ns) {
  if (ns <= 0) return;
  const int64_t end = Now() + ns;
  while (Now() < end) CpuRelax();
}

void FutexWait(std::atomic<uint32_t>* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

struct Instruction {
  void (*kernel)(const Instruction&);
  const float* x;
  const float* y;
  float* out;
  int64_t work_ns;
};

// out = x + y, after `work_ns` of busy work.
void AddKernel(const Instruction& instruction) {
  BusyFor(instruction.work_ns);
  *instruction.out = *instruction.x + *instruction.y;
}

// Issues from one thread; `Wait` returns when everything that was issued has run.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void Issue(const Instruction& instruction) = 0;
  virtual void Wait() = 0;
  // CPU time of the worker thread, 0 without one.
  virtual int64_t WorkerCpu() = 0;
};

class InlineStream : public Stream {
 public:
  void Issue(const Instruction& instruction) override {
    uint32_t idle = 0;
    Require(busy_.compare_exchange_strong(idle, 1, std::memory_order_acquire), "stream is idle");
    instruction.kernel(instruction);
    done_.store(done_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    busy_.store(0, std::memory_order_release);
  }
  void Wait() override {}
  int64_t WorkerCpu() override { return 0; }

 private:
  std::atomic<uint32_t> busy_{0};
  std::atomic<uint64_t> done_{0};
};

int64_t CpuOf(std::thread& thread) {
  clockid_t id;
  pthread_getcpuclockid(thread.native_handle(), &id);
  return Clock(id);
}

class CondvarStream : public Stream {
 public:
  CondvarStream() : ring_(kCapacity), worker_([this] { Work(); }) {}
  ~CondvarStream() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    not_empty_.notify_one();
    worker_.join();
  }

  void Issue(const Instruction& instruction) override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      progress_.wait(lock, [this] { return head_ - taken_ < kCapacity; });
      ring_[head_++ % kCapacity] = instruction;
    }
    not_empty_.notify_one();
  }

  void Wait() override {
    std::unique_lock<std::mutex> lock(mutex_);
    progress_.wait(lock, [this] { return done_ == head_; });
  }

  int64_t WorkerCpu() override { return CpuOf(worker_); }

 private:
  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      not_empty_.wait(lock, [this] { return stop_ || taken_ != head_; });
      if (taken_ == head_) return;
      const Instruction instruction = ring_[taken_++ % kCapacity];
      lock.unlock();
      instruction.kernel(instruction);
      lock.lock();
      ++done_;
      progress_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable progress_;
  std::vector<Instruction> ring_;  // all below are guarded by mutex_
  uint64_t head_ = 0;
  uint64_t taken_ = 0;
  uint64_t done_ = 0;
  bool stop_ = false;
  std::thread worker_;  // last: starts when the rest exists
};

enum class Spin { kNone, kFixed, kAdaptive };
constexpr int64_t kSpinNs = 20000;
constexpr int64_t kPatientSpinNs = 60000;
constexpr int64_t kMinSpinNs = 2000;

// A place where one thread sleeps until another has made progress. The sleeper announces itself in
// `word_`, then looks at the progress once more; the waker publishes progress, then looks at
// `word_`. All four accesses are sequentially consistent, so one of the two always sees the other.
class Parking {
 public:
  explicit Parking(Spin spin, int64_t spin_ns = kSpinNs)
      : spin_(spin), max_ns_(spin_ns), limit_ns_(spin_ns) {}

  // Returns once `ready()`, which loads with sequential consistency, is true; polls, then sleeps.
  template <typename Ready>
  void Await(Ready ready) {
    if (ready()) return;
    if (spin_ != Spin::kNone) {
      const bool found = Poll(ready);
      if (spin_ == Spin::kAdaptive) {
        limit_ns_ = found ? max_ns_ : std::max(kMinSpinNs, limit_ns_ / 2);
      }
      if (found) return;
    }
    while (true) {
      word_.store(1);
      if (ready()) break;
      FutexWait(&word_, 1);
    }
    word_.store(0, std::memory_order_relaxed);
  }

  // REQUIRES: progress was published by a sequentially consistent store.
  void Notify() {
    if (word_.load() == 0) return;
    if (word_.exchange(0) == 1) FutexWake(&word_);
  }

 private:
  template <typename Ready>
  bool Poll(Ready ready) {
    const int64_t end = Now() + limit_ns_;
    do {
      for (int i = 0; i < 16; ++i) {
        if (ready()) return true;
        CpuRelax();
      }
    } while (Now() < end);
    return false;
  }

  const Spin spin_;
  const int64_t max_ns_;
  int64_t limit_ns_;  // the sleeper's
  std::atomic<uint32_t> word_{0};
};

class RingStream : public Stream {
 public:
  RingStream(Spin worker_spin, Spin issuer_spin, int64_t issuer_spin_ns = kSpinNs)
      : ring_(kCapacity),
        worker_parking_(worker_spin),
        issuer_parking_(issuer_spin, issuer_spin_ns),
        worker_([this] { Work(); }) {}
  ~RingStream() override {
    stop_.store(true);
    worker_parking_.Notify();
    worker_.join();
  }

  void Issue(const Instruction& instruction) override {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - done_seen_ == kCapacity) AwaitDone(head - kCapacity / 2);
    ring_[head % kCapacity] = instruction;
    head_.store(head + 1);
    worker_parking_.Notify();
  }

  void Wait() override { AwaitDone(head_.load(std::memory_order_relaxed)); }

  int64_t WorkerCpu() override { return CpuOf(worker_); }

 private:
  void AwaitDone(uint64_t target) {
    awaited_.store(target, std::memory_order_relaxed);
    issuer_parking_.Await([this, target] {
      done_seen_ = done_.load();
      return done_seen_ >= target;
    });
  }

  void Work() {
    uint64_t tail = 0;
    while (true) {
      worker_parking_.Await([this, tail] { return head_.load() != tail || stop_.load(); });
      const uint64_t head = head_.load();
      if (head == tail) return;
      for (; tail != head; ++tail) {
        const Instruction& instruction = ring_[tail % kCapacity];
        instruction.kernel(instruction);
        done_.store(tail + 1);
        // A worker wakes the issuer only for the op that it waits for, not for each one.
        if (tail + 1 >= awaited_.load(std::memory_order_relaxed)) issuer_parking_.Notify();
      }
    }
  }

  std::vector<Instruction> ring_;
  alignas(64) std::atomic<uint64_t> head_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint64_t> done_{0};
  alignas(64) std::atomic<uint64_t> awaited_{0};
  uint64_t done_seen_ = 0;  // the issuer's
  alignas(64) Parking worker_parking_;
  alignas(64) Parking issuer_parking_;
  std::thread worker_;  // last: starts when the rest exists
};

enum Mode { kInline, kCondvar, kRingFutex, kRingSpin, kRingAdaptive, kRingPatient, kModes };
const char* const kModeNames[kModes] = {"inline",    "mutex+condvar", "ring+futex",
                                        "ring+spin", "ring+adaptive", "ring+patient"};

std::unique_ptr<Stream> MakeStream(int mode) {
  switch (mode) {
    case kInline: return std::make_unique<InlineStream>();
    case kCondvar: return std::make_unique<CondvarStream>();
    case kRingFutex: return std::make_unique<RingStream>(Spin::kNone, Spin::kNone);
    case kRingSpin: return std::make_unique<RingStream>(Spin::kFixed, Spin::kFixed);
    case kRingAdaptive: return std::make_unique<RingStream>(Spin::kAdaptive, Spin::kAdaptive);
    default: return std::make_unique<RingStream>(Spin::kAdaptive, Spin::kFixed, kPatientSpinNs);
  }
}

// Issues `count` ops, `gap_ns` of other work of the issuer between them, and a wait after each
// `wait_every` (0: at the end only). The ops are a chain, out = out + 1, so the sum proves that
// each of them ran, in order. Gives ns per op: issuing alone (wall), all (wall), issuer CPU, worker
// CPU.
std::vector<double> Chain(Stream* stream, int count, int64_t work_ns, int64_t gap_ns,
                          int wait_every) {
  float value = 0.0f;
  const float one = 1.0f;
  const Instruction instruction{AddKernel, &value, &one, &value, work_ns};
  const int64_t worker_start = stream->WorkerCpu();
  const int64_t cpu_start = ThreadCpu();
  const int64_t start = Now();
  int64_t waited = 0;
  for (int i = 1; i <= count; ++i) {
    BusyFor(gap_ns);
    stream->Issue(instruction);
    if (wait_every > 0 && i % wait_every == 0) {
      const int64_t wait_start = Now();
      stream->Wait();
      waited += Now() - wait_start;
    }
  }
  const int64_t issued = Now();
  stream->Wait();
  const int64_t finished = Now();
  const int64_t cpu_end = ThreadCpu();
  Require(value == static_cast<float>(count), "the chain of additions");
  const double ops = count;
  return {static_cast<double>(issued - start - waited) / ops - static_cast<double>(gap_ns),
          static_cast<double>(finished - start) / ops,
          static_cast<double>(cpu_end - cpu_start) / ops,
          static_cast<double>(stream->WorkerCpu() - worker_start) / ops};
}

// Issue and wait, `count` times, after `gap_ns` of the issuer's own work; median and 99th
// percentile.
std::vector<double> RoundTrip(Stream* stream, int count, int64_t gap_ns) {
  float value = 0.0f;
  const float one = 1.0f;
  const Instruction instruction{AddKernel, &value, &one, &value, 0};
  std::vector<double> samples;
  samples.reserve(count);
  const int64_t worker_start = stream->WorkerCpu();
  for (int i = 0; i < count; ++i) {
    BusyFor(gap_ns);
    const int64_t start = Now();
    stream->Issue(instruction);
    stream->Wait();
    samples.push_back(static_cast<double>(Now() - start));
  }
  Require(value == static_cast<float>(count), "the round trips");
  const double worker = static_cast<double>(stream->WorkerCpu() - worker_start) / count;
  return {Quantile(samples, 0.5), Quantile(samples, 0.99), worker};
}

struct Options {
  int rounds = 15;
  unsigned seed = 1;
  std::string section;  // empty: all of them
  int64_t only = -1;    // one gap or one wait_every of the section; -1: all of them
};

using Streams = std::vector<std::unique_ptr<Stream>>;

void Throughput(const Options& options, const Streams& streams, int count, int64_t gap_ns) {
  std::printf("\n%d ops, %lld ns of other work between two, one wait at the end; ns per op\n",
              count, static_cast<long long>(gap_ns));
  Interleave table({"issue", "total", "issuer cpu", "worker cpu"});
  for (int mode = 0; mode < kModes; ++mode) {
    Stream* stream = streams[mode].get();
    table.Add(kModeNames[mode], [=] { return Chain(stream, count, 0, gap_ns, 0); });
  }
  table.Run(options.rounds, options.seed);
  table.Print();
}

void Latency(const Options& options, const Streams& streams, int count, int64_t gap_ns) {
  std::printf("\nissue and wait, %d times, after %lld ns of other work; ns\n", count,
              static_cast<long long>(gap_ns));
  Interleave table({"median", "99th percentile", "worker cpu"});
  for (int mode = 0; mode < kModes; ++mode) {
    Stream* stream = streams[mode].get();
    table.Add(kModeNames[mode], [=] { return RoundTrip(stream, count, gap_ns); });
  }
  table.Run(options.rounds, options.seed);
  table.Print();
}

// Total time per op for a range of work, as a Python program would issue it: 1 us between two ops.
void Crossover(const Options& options, const Streams& streams, int wait_every) {
  std::printf("\n1 us of other work before each op, a wait after every %d; total ns per op\n",
              wait_every);
  std::vector<std::string> columns;
  const std::vector<int64_t> works = {0, 500, 1000, 2000, 5000, 10000, 20000, 50000};
  for (int64_t work : works) columns.push_back(std::to_string(work) + " ns op");
  Interleave table(columns);
  for (int mode = 0; mode < kModes; ++mode) {
    Stream* stream = streams[mode].get();
    table.Add(kModeNames[mode], [=] {
      std::vector<double> totals;
      for (int64_t work : works) totals.push_back(Chain(stream, 400, work, 1000, wait_every)[1]);
      return totals;
    });
  }
  table.Run(options.rounds, options.seed);
  table.Print();
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--seed") == 0) options.seed = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--section") == 0) options.section = argv[i + 1];
    if (std::strcmp(argv[i], "--only") == 0) options.only = std::atoll(argv[i + 1]);
  }
  Streams streams;
  for (int mode = 0; mode < kModes; ++mode) streams.push_back(MakeStream(mode));
  const auto wanted = [&options](const char* section, int64_t parameter) {
    return (options.section.empty() || options.section == section) &&
           (options.only < 0 || options.only == parameter);
  };
  for (int64_t gap : {0, 1000, 5000, 50000}) {
    const int count = gap == 0 ? 100000 : gap < 50000 ? 20000 : 1000;
    if (wanted("throughput", gap)) Throughput(options, streams, count, gap);
  }
  for (int64_t gap : {0, 5000, 100000}) {
    if (wanted("latency", gap)) Latency(options, streams, 1000, gap);
  }
  for (int wait_every : {1, 10, 100}) {
    if (wanted("crossover", wait_every)) Crossover(options, streams, wait_every);
  }
  return 0;
}

}  // namespace
}  // namespace oneflow::spikes

int main(int argc, char** argv) { return oneflow::spikes::Main(argc, argv); }
