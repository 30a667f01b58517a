// InternTable: call stacks as a tree of nodes, each one frame; a stack is the id of its innermost
// node.
//
// A node is (parent, site), a site is (code object, instruction). Both are found by hash and then
// compared exactly, so two stacks never share an id. The table asks its CodeKeeper to keep each
// distinct code object alive while a site names it: an address that returns is then the same object.
//
// Ids are never reused: an id is a slot and a generation, and a slot whose generations are used up
// is retired. Memory stays below `limit_bytes` by evicting leaves that nobody pinned, oldest first,
// but not the ones that the FrameCache holds (those were captured last). When everything is pinned
// the table grows beyond the limit; when its ids run out, Intern returns kNoStack.
//
// Thread safety: Intern, Evict and the released codes need external locking (for CPython, the GIL). Pin,
// Unpin, Evicted and Visit are lock-free, for any thread at any time: a pinned id keeps its
// ancestors, for a node with children is no leaf. The handing over of an id from the thread that
// captured it to another gives the happens-before for what the node holds.
// Ownership: of its memory; codes are owned through the keeper. Never blocks.
#ifndef ONEFLOW_EXTENSION_STACK_INTERN_TABLE_H_
#define ONEFLOW_EXTENSION_STACK_INTERN_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oneflow/common/stack_source.h"
#include "oneflow/extension/stack/frame_cache.h"

namespace oneflow {
namespace pystack {

// Knows what a code object is. Called with the table's external lock held.
class CodeKeeper {
 public:
  virtual ~CodeKeeper() = default;
  // Keeps `code` alive and returns what Visit() hands out for it; `*bytes` is what that costs.
  virtual void* Acquire(const void* code, size_t* bytes) = 0;
  virtual void Release(void* record) = 0;
};

class InternTable {
 public:
  // `cache` may be nullptr. Both must outlive the table.
  InternTable(CodeKeeper* keeper, FrameCache* cache, size_t limit_bytes);
  ~InternTable();
  InternTable(const InternTable&) = delete;
  InternTable& operator=(const InternTable&) = delete;

  // The id of the frame (code, lasti) called from the stack `parent` (kNoStack: nobody called it).
  StackId Intern(StackId parent, const void* code, int lasti);

  // False, and no effect, when the id was evicted or never given out.
  bool Pin(StackId id);
  // Undoes one Pin() that returned true.
  void Unpin(StackId id);
  bool Evicted(StackId id) const;

  // Calls visitor(record, lasti) for each frame, innermost first. False when the id was evicted.
  template <typename Visitor>
  bool Visit(StackId id, const Visitor& visitor) {
    if (!Pin(id)) { return false; }
    for (uint32_t slot = SlotOf(id); slot != kRoot; slot = ParentOf(slot)) {
      const Site& site = SiteAt(NodeAt(slot)->site.load(std::memory_order_relaxed));
      visitor(site.record, site.lasti);
    }
    Unpin(id);
    return true;
  }

  // Evicts unpinned leaves until at most `keep` nodes are left, or no such leaf is. Returns the
  // number evicted. The cached ids stay, unless the table is small beside the cache.
  size_t Evict(size_t keep);

  // Records of codes that lost their last site wait here: giving them back (CodeKeeper::Release) may
  // run any code of the host language, so the caller chooses the moment.
  bool HasReleasedCodes() const { return !released_.empty(); }
  std::vector<void*> TakeReleasedCodes() { return std::exchange(released_, {}); }
  void ReleaseCodes();

  size_t bytes() const { return bytes_; }
  size_t nodes() const { return live_; }
  size_t sites() const { return site_count_; }
  size_t codes() const { return codes_.size(); }
  uint64_t evictions() const { return evictions_; }

 private:
  static constexpr int kSlotBits = 21;
  static constexpr uint32_t kMaxSlots = 1u << kSlotBits;
  static constexpr uint32_t kSlotMask = kMaxSlots - 1;
  static constexpr uint32_t kMaxGeneration = (1u << (32 - kSlotBits)) - 1;
  static constexpr uint32_t kMaxSites = 1u << 22;
  static constexpr uint32_t kChunk = 4096;
  static constexpr uint32_t kMaxHeads = 1u << 18;
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = 0;
  // Values of a pin count: dead slots, and counts that overflowed and stay for ever.
  static constexpr uint16_t kDead = 0xfffe;
  static constexpr uint16_t kSticky = 0xffff;

  struct Node {
    std::atomic<uint32_t> parent;  // generation of this slot (high bits), slot of the parent (low)
    std::atomic<uint32_t> site;
    uint32_t next;  // of the same hash, or in the free list; external lock
  };
  struct NodeChunk {
    Node nodes[kChunk];
    std::atomic<uint16_t> pins[kChunk];
  };
  struct Site {
    const void* code;
    void* record;
    int32_t lasti;
    uint32_t next;
  };
  struct SiteChunk {
    Site sites[kChunk];
  };
  struct Code {
    void* record;
    size_t bytes;
    uint32_t sites;
  };

  static uint32_t SlotOf(StackId id) { return id & kSlotMask; }
  static uint32_t GenerationOf(uint32_t word) { return word >> kSlotBits; }
  uint32_t ParentOf(uint32_t slot) const {
    return NodeAt(slot)->parent.load(std::memory_order_relaxed) & kSlotMask;
  }
  Node* NodeAt(uint32_t slot) const {
    return &chunks_[slot / kChunk].load(std::memory_order_acquire)->nodes[slot % kChunk];
  }
  std::atomic<uint16_t>* PinsAt(uint32_t slot) const {
    return &chunks_[slot / kChunk].load(std::memory_order_acquire)->pins[slot % kChunk];
  }
  Site& SiteAt(uint32_t site) const {
    return site_chunks_[site / kChunk].load(std::memory_order_acquire)->sites[site % kChunk];
  }
  static void Undo(std::atomic<uint16_t>* pins);
  StackId IdOf(uint32_t slot) const;
  bool Exists(StackId id) const;
  bool Live(uint32_t slot) const;

  uint32_t NodeHead(uint32_t parent, uint32_t site) const;
  uint32_t SiteHead(const void* code, int lasti) const;
  uint32_t FindNode(uint32_t parent, uint32_t site) const;
  uint32_t FindSite(const void* code, int lasti) const;
  StackId Add(StackId parent, const void* code, int lasti);
  uint32_t AddSite(const void* code, int lasti);
  uint32_t AddNode(uint32_t parent, uint32_t site);
  uint32_t TakeSite();
  uint32_t TakeSlot();
  bool NeedsRoom() const;
  void MakeRoom(StackId parent);
  void RehashNodes(size_t heads);
  void RehashSites(size_t heads);
  void CountChildren(std::vector<uint8_t>* children) const;
  void KeepCached(std::vector<uint8_t>* children) const;
  size_t EvictUpwards(uint32_t slot, std::vector<uint8_t>* children, size_t wanted);
  void Free(uint32_t slot);
  void SweepSites();

  CodeKeeper* const keeper_;
  FrameCache* const cache_;
  const size_t limit_bytes_;
  size_t soft_limit_;  // above limit_bytes_ only while nothing more can be evicted
  size_t bytes_ = 0;
  size_t live_ = 0;
  uint64_t evictions_ = 0;

  std::array<std::atomic<NodeChunk*>, kMaxSlots / kChunk> chunks_{};
  uint32_t next_slot_ = 1;  // slot 0 is the root
  uint32_t free_first_ = kNone;
  uint32_t free_last_ = kNone;
  uint32_t hand_ = 1;  // where the next eviction goes on; behind it are the youngest
  std::vector<uint32_t> heads_;

  std::array<std::atomic<SiteChunk*>, kMaxSites / kChunk> site_chunks_{};
  uint32_t next_site_ = 1;
  uint32_t free_site_ = kNone;
  size_t site_count_ = 0;
  std::vector<uint32_t> site_heads_;

  std::unordered_map<const void*, Code> codes_;
  std::vector<void*> released_;
};

}  // namespace pystack
}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_INTERN_TABLE_H_
