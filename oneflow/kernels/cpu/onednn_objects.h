// Owners of oneDNN's objects, its one engine, and caches of executable objects.
//
// oneDNN is called by its C interface: nothing here throws. Thread safety: Engine() from anywhere;
// OnednnCache keeps the objects of each thread apart, since memory handles are set at each call.
#ifndef ONEFLOW_KERNELS_CPU_ONEDNN_OBJECTS_H_
#define ONEFLOW_KERNELS_CPU_ONEDNN_OBJECTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dnnl.h"
#include "oneflow/common/mutex.h"

namespace oneflow {
namespace cpu {
namespace onednn {

template <typename Object, dnnl_status_t (*Destroy)(Object*)>
struct Deleter {
  void operator()(Object* object) const { Destroy(object); }
};
using MemoryDesc =
    std::unique_ptr<dnnl_memory_desc, Deleter<dnnl_memory_desc, &dnnl_memory_desc_destroy>>;
using Memory = std::unique_ptr<dnnl_memory, Deleter<dnnl_memory, &dnnl_memory_destroy>>;
using Attributes = std::unique_ptr<dnnl_primitive_attr,
                                   Deleter<dnnl_primitive_attr, &dnnl_primitive_attr_destroy>>;
using Primitive = std::unique_ptr<dnnl_primitive, Deleter<dnnl_primitive, &dnnl_primitive_destroy>>;
struct PrimitiveDescDeleter {
  void operator()(dnnl_primitive_desc* desc) const { dnnl_primitive_desc_destroy(desc); }
};
using PrimitiveDesc = std::unique_ptr<dnnl_primitive_desc, PrimitiveDescDeleter>;

// nullptr if there is none. Leaked: used until the process ends.
inline dnnl_engine_t Engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t created = nullptr;
    return dnnl_engine_create(&created, dnnl_cpu, 0) == dnnl_success ? created : nullptr;
  }();
  return engine;
}

// A stream of the calling thread. Leaked with the thread's caches.
inline dnnl_stream_t ThreadStream() {
  static thread_local const dnnl_stream_t stream = [] {
    dnnl_stream_t created = nullptr;
    if (Engine() != nullptr) { dnnl_stream_create(&created, Engine(), dnnl_stream_default_flags); }
    return created;
  }();
  return stream;
}

// Whether this machine computes in bfloat16 by oneDNN (in hardware, or emulated with AVX-512).
inline bool HasBfloat16() {
  static const bool has = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
                          static_cast<int>(dnnl_cpu_isa_avx512_core);
  return has;
}

// A call's signature: two calls with the same one share an executable object.
template <size_t kFields>
using Signature = std::array<int64_t, kFields>;

template <size_t kFields>
struct SignatureHash {
  size_t operator()(const Signature<kFields>& s) const {
    uint64_t hash = 0;
    for (int64_t field : s) {
      hash = (hash ^ static_cast<uint64_t>(field)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

// The executable objects of one thread, at most `kCapacity` of them, least recently used out first.
// When a thread ends its cache passes to the next new one; caches are leaked, since a thread may
// compute while the process exits.
template <typename Object, size_t kFields, size_t kCapacity>
class OnednnCache {
 public:
  static OnednnCache& OfThread() {
    if (__builtin_expect(thread_cache_ == nullptr, 0)) {
      thread_cache_ = Take();
      static thread_local ReturnAtThreadExit guard;
      (void)guard;
    }
    return *thread_cache_;
  }

  // The object of this signature, or what make() gives (nullptr: oneDNN refuses; remembered too).
  // It is good until the thread asks for the next one.
  template <typename Make>
  Object* Find(const Signature<kFields>& signature, const Make& make) {
    auto found = entries_.find(signature);
    if (found == entries_.end()) {
      if (entries_.size() >= kCapacity) { DropOldest(); }
      found = entries_.emplace(signature, Entry{make(), 0}).first;
    }
    found->second.last_use = ++clock_;
    return found->second.object.get();
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::unique_ptr<Object> object;
    uint64_t last_use;
  };
  struct IdleCaches {
    Mutex mutex;
    std::vector<OnednnCache*> caches GUARDED_BY(mutex);
  };
  struct ReturnAtThreadExit {
    ~ReturnAtThreadExit() {
      MutexLock lock(&Idle().mutex);
      Idle().caches.push_back(thread_cache_);
      thread_cache_ = nullptr;
    }
  };

  static IdleCaches& Idle() {
    static auto* idle = new IdleCaches();
    return *idle;
  }
  static OnednnCache* Take() {
    MutexLock lock(&Idle().mutex);
    if (Idle().caches.empty()) { return new OnednnCache(); }
    OnednnCache* cache = Idle().caches.back();
    Idle().caches.pop_back();
    return cache;
  }
  void DropOldest() {
    auto oldest = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second.last_use < oldest->second.last_use) { oldest = it; }
    }
    entries_.erase(oldest);
  }

  static inline thread_local OnednnCache* thread_cache_ = nullptr;
  std::unordered_map<Signature<kFields>, Entry, SignatureHash<kFields>> entries_;
  uint64_t clock_ = 0;
};

}  // namespace onednn
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_ONEDNN_OBJECTS_H_
