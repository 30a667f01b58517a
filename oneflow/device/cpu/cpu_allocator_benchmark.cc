// What one Allocate and one Free cost. Each benchmark checks that it measured what it says.
#include <benchmark/benchmark.h>

#include "oneflow/device/cpu/cpu_allocator.h"

namespace oneflow {
namespace cpu {
namespace {

// Cached block of one class: the common case of an eager program.
void CachedPair(benchmark::State& state) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  Allocator* allocator = &pool;
  benchmark::DoNotOptimize(allocator);
  const size_t bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    Maybe<MemoryBlock*> block = allocator->Allocate(bytes, 0);
    benchmark::DoNotOptimize(block.value()->data);
    allocator->Free(block.value(), nullptr, 0);
  }
  const MemoryStats stats = pool.Stats();
  if (stats.allocations - stats.cache_hits != 1) { state.SkipWithError("not from the cache"); }
}
BENCHMARK(CachedPair)->Arg(4)->Arg(4096)->Arg(1 << 20)->Arg(64 << 20);

// Allocate alone: 1000 cached blocks of different classes, taken and given back in turn.
void CachedMany(benchmark::State& state) {
  CpuAllocator pool{MemoryBudget(kNoLimit)};
  MemoryBlock* blocks[1000];
  for (auto _ : state) {
    for (size_t i = 0; i < 1000; ++i) { blocks[i] = pool.Allocate(64 + i * 16, 0).value(); }
    for (MemoryBlock* block : blocks) { pool.Free(block, nullptr, 0); }
  }
  if (pool.Stats().allocated != 0) { state.SkipWithError("blocks were lost"); }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(CachedMany);

}  // namespace
}  // namespace cpu
}  // namespace oneflow
