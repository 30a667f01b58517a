#include "oneflow/extension/stack/intern_table.h"

#include <algorithm>
#include <new>

namespace oneflow {
namespace pystack {

namespace {

// A count of children that stands for "many", or "keep this node".
constexpr uint8_t kManyChildren = 255;

uint32_t Mix(uint64_t x) {
  x *= 0x9e3779b97f4a7c15ull;
  return static_cast<uint32_t>(x >> 32);
}

}  // namespace

InternTable::InternTable(CodeKeeper* keeper, FrameCache* cache, size_t limit_bytes)
    : keeper_(keeper),
      cache_(cache),
      limit_bytes_(limit_bytes),
      soft_limit_(limit_bytes),
      heads_(1024, kNone),
      site_heads_(1024, kNone) {
  bytes_ = sizeof(*this) + (heads_.size() + site_heads_.size()) * sizeof(uint32_t);
  if (cache != nullptr) { bytes_ += sizeof(*cache); }
}

InternTable::~InternTable() {
  for (const auto& item : codes_) { released_.push_back(item.second.record); }
  ReleaseCodes();
  for (auto& chunk : chunks_) { delete chunk.load(); }
  for (auto& chunk : site_chunks_) { delete chunk.load(); }
}

StackId InternTable::IdOf(uint32_t slot) const {
  const uint32_t word = NodeAt(slot)->parent.load(std::memory_order_relaxed);
  return (GenerationOf(word) << kSlotBits) | slot;
}

bool InternTable::Exists(StackId id) const {
  const uint32_t slot = SlotOf(id);
  return slot != kRoot && chunks_[slot / kChunk].load(std::memory_order_acquire) != nullptr;
}

bool InternTable::Live(uint32_t slot) const {
  return PinsAt(slot)->load(std::memory_order_relaxed) != kDead;
}

uint32_t InternTable::NodeHead(uint32_t parent, uint32_t site) const {
  return Mix((static_cast<uint64_t>(parent) << 32) | site) & (heads_.size() - 1);
}

uint32_t InternTable::SiteHead(const void* code, int lasti) const {
  const uint64_t bits = reinterpret_cast<uintptr_t>(code) >> 4;
  return Mix(bits * 31 + static_cast<uint32_t>(lasti)) & (site_heads_.size() - 1);
}

uint32_t InternTable::FindNode(uint32_t parent, uint32_t site) const {
  uint32_t slot = heads_[NodeHead(parent, site)];
  while (slot != kNone) {
    const Node* node = NodeAt(slot);
    if ((node->parent.load(std::memory_order_relaxed) & kSlotMask) == parent &&
        node->site.load(std::memory_order_relaxed) == site) {
      break;
    }
    slot = node->next;
  }
  return slot;
}

uint32_t InternTable::FindSite(const void* code, int lasti) const {
  uint32_t site = site_heads_[SiteHead(code, lasti)];
  while (site != kNone && (SiteAt(site).code != code || SiteAt(site).lasti != lasti)) {
    site = SiteAt(site).next;
  }
  return site;
}

StackId InternTable::Intern(StackId parent, const void* code, int lasti) {
  const uint32_t site = FindSite(code, lasti);
  if (site != kNone) {
    const uint32_t slot = FindNode(SlotOf(parent), site);
    if (slot != kNone) { return IdOf(slot); }
  }
  return Add(parent, code, lasti);
}

StackId InternTable::Add(StackId parent, const void* code, int lasti) {
  if (NeedsRoom()) { MakeRoom(parent); }  // before the lookup: it sweeps sites without nodes
  uint32_t site = FindSite(code, lasti);
  if (site == kNone) { site = AddSite(code, lasti); }
  if (site == kNone) { return kNoStack; }
  const uint32_t slot = AddNode(SlotOf(parent), site);
  return slot == kNone ? kNoStack : IdOf(slot);
}

uint32_t InternTable::TakeSite() {
  const uint32_t site = free_site_;
  if (site != kNone) {
    free_site_ = SiteAt(site).next;
    return site;
  }
  if (next_site_ == kMaxSites) { return kNone; }
  auto& chunk = site_chunks_[next_site_ / kChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    SiteChunk* fresh = new (std::nothrow) SiteChunk();
    if (fresh == nullptr) { return kNone; }
    chunk.store(fresh, std::memory_order_release);
    bytes_ += sizeof(SiteChunk);
  }
  return next_site_++;
}

uint32_t InternTable::AddSite(const void* code, int lasti) {
  auto found = codes_.find(code);
  if (found == codes_.end()) {
    Code added{nullptr, 0, 0};
    added.record = keeper_->Acquire(code, &added.bytes);
    if (added.record == nullptr) { return kNone; }
    bytes_ += added.bytes;
    found = codes_.emplace(code, added).first;
  }
  const uint32_t site = TakeSite();
  if (site == kNone) { return kNone; }
  if (site_count_ >= site_heads_.size()) { RehashSites(site_heads_.size() * 2); }
  uint32_t& head = site_heads_[SiteHead(code, lasti)];
  SiteAt(site) = Site{code, found->second.record, lasti, head};
  head = site;
  ++found->second.sites;
  ++site_count_;
  return site;
}

uint32_t InternTable::TakeSlot() {
  const uint32_t slot = free_first_;
  if (slot != kNone) {
    free_first_ = NodeAt(slot)->next;
    return slot;
  }
  if (next_slot_ == kMaxSlots) { return kNone; }
  auto& chunk = chunks_[next_slot_ / kChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    NodeChunk* fresh = new (std::nothrow) NodeChunk();
    if (fresh == nullptr) { return kNone; }
    for (auto& pins : fresh->pins) { pins.store(kDead, std::memory_order_relaxed); }
    chunk.store(fresh, std::memory_order_release);
    bytes_ += sizeof(NodeChunk);
  }
  return next_slot_++;
}

uint32_t InternTable::AddNode(uint32_t parent, uint32_t site) {
  const uint32_t slot = TakeSlot();
  if (slot == kNone) { return kNone; }
  if (live_ >= heads_.size() && heads_.size() < kMaxHeads) { RehashNodes(heads_.size() * 2); }
  Node* node = NodeAt(slot);
  const uint32_t generation = GenerationOf(node->parent.load(std::memory_order_relaxed));
  node->parent.store((generation << kSlotBits) | parent, std::memory_order_relaxed);
  node->site.store(site, std::memory_order_relaxed);
  uint32_t& head = heads_[NodeHead(parent, site)];
  node->next = head;
  head = slot;
  // Pin() of an older id of this slot sees the new generation once it sees this count.
  PinsAt(slot)->store(0, std::memory_order_release);
  ++live_;
  return slot;
}

bool InternTable::NeedsRoom() const {
  size_t growth = 0;  // at most, by one more stack
  if (free_first_ == kNone && next_slot_ % kChunk == 0) { growth += sizeof(NodeChunk); }
  if (free_site_ == kNone && next_site_ % kChunk == 0) { growth += sizeof(SiteChunk); }
  if (live_ >= heads_.size() && heads_.size() < kMaxHeads) {
    growth += heads_.size() * sizeof(uint32_t);
  }
  if (site_count_ >= site_heads_.size()) { growth += site_heads_.size() * sizeof(uint32_t); }
  return bytes_ + growth > soft_limit_;
}

void InternTable::MakeRoom(StackId parent) {
  const bool pinned = parent != kNoStack && Pin(parent);
  const size_t live = live_;
  const size_t evicted = Evict(live - live / 4);
  if (pinned) { Unpin(parent); }
  // Where little can go, do not look again at every new stack.
  const bool stuck = evicted < live / 8 || bytes_ > limit_bytes_;
  soft_limit_ = stuck ? bytes_ + bytes_ / 8 + 2 * sizeof(NodeChunk) : limit_bytes_;
}

void InternTable::RehashNodes(size_t heads) {
  if (heads != heads_.size()) {
    bytes_ += (heads - heads_.size()) * sizeof(uint32_t);
    heads_ = std::vector<uint32_t>(heads);
  }
  std::fill(heads_.begin(), heads_.end(), kNone);
  for (uint32_t slot = 1; slot < next_slot_; ++slot) {
    if (!Live(slot)) { continue; }
    Node* node = NodeAt(slot);
    uint32_t& head = heads_[NodeHead(ParentOf(slot), node->site.load(std::memory_order_relaxed))];
    node->next = head;
    head = slot;
  }
}

void InternTable::RehashSites(size_t heads) {
  if (heads != site_heads_.size()) {
    bytes_ += (heads - site_heads_.size()) * sizeof(uint32_t);
    site_heads_ = std::vector<uint32_t>(heads);
  }
  std::fill(site_heads_.begin(), site_heads_.end(), kNone);
  for (uint32_t site = 1; site < next_site_; ++site) {
    Site& s = SiteAt(site);
    if (s.code == nullptr) { continue; }
    uint32_t& head = site_heads_[SiteHead(s.code, s.lasti)];
    s.next = head;
    head = site;
  }
}

bool InternTable::Pin(StackId id) {
  if (!Exists(id)) { return false; }
  const uint32_t slot = SlotOf(id);
  const uint32_t generation = GenerationOf(id);
  const auto current = [&] {
    return GenerationOf(NodeAt(slot)->parent.load(std::memory_order_acquire)) == generation;
  };
  std::atomic<uint16_t>* pins = PinsAt(slot);
  uint16_t count = pins->load(std::memory_order_acquire);
  while (true) {
    if (count == kDead || !current()) { return false; }
    if (count == kSticky) { return true; }
    const uint16_t more = count + 1 == kDead ? kSticky : static_cast<uint16_t>(count + 1);
    if (pins->compare_exchange_weak(count, more, std::memory_order_acq_rel)) { break; }
  }
  if (current()) { return true; }
  // The slot was evicted and used again since the first look: this pin is not ours to keep.
  Undo(pins);
  return false;
}

void InternTable::Undo(std::atomic<uint16_t>* pins) {
  uint16_t count = pins->load(std::memory_order_relaxed);
  while (count != kSticky && count != kDead && count != 0 &&
         !pins->compare_exchange_weak(count, static_cast<uint16_t>(count - 1),
                                      std::memory_order_acq_rel)) {}
}

void InternTable::Unpin(StackId id) {
  if (!Evicted(id)) { Undo(PinsAt(SlotOf(id))); }
}

bool InternTable::Evicted(StackId id) const {
  if (id == kNoStack) { return false; }
  if (!Exists(id)) { return true; }
  const uint32_t word = NodeAt(SlotOf(id))->parent.load(std::memory_order_acquire);
  return GenerationOf(word) != GenerationOf(id) || !Live(SlotOf(id));
}

void InternTable::CountChildren(std::vector<uint8_t>* children) const {
  for (uint32_t slot = 1; slot < next_slot_; ++slot) {
    if (!Live(slot)) { continue; }
    uint8_t& count = (*children)[ParentOf(slot)];
    if (count != kManyChildren) { ++count; }
  }
}

void InternTable::KeepCached(std::vector<uint8_t>* children) const {
  for (const FrameCache::Entry& entry : *cache_) {
    if (entry.key != FrameCache::kEmpty) { (*children)[SlotOf(entry.id)] = kManyChildren; }
  }
}

size_t InternTable::Evict(size_t keep) {
  if (live_ <= keep) { return 0; }
  const size_t before = live_;
  std::vector<uint8_t> children(next_slot_, 0);
  CountChildren(&children);
  if (cache_ != nullptr) {
    if (live_ < 4 * FrameCache::kEntries) {
      cache_->Clear();
    } else {
      KeepCached(&children);
    }
  }
  size_t wanted = live_ - keep;
  for (uint32_t looked = 1; looked < next_slot_ && wanted > 0; ++looked) {
    if (hand_ >= next_slot_) { hand_ = 1; }
    wanted -= EvictUpwards(hand_++, &children, wanted);
  }
  RehashNodes(heads_.size());
  SweepSites();
  evictions_ += before - live_;
  return before - live_;
}

// Evicts the leaf `slot`, then its parent if that has become a leaf, and so on.
size_t InternTable::EvictUpwards(uint32_t slot, std::vector<uint8_t>* children, size_t wanted) {
  size_t evicted = 0;
  while (slot != kRoot && evicted < wanted && (*children)[slot] == 0) {
    uint16_t unpinned = 0;
    if (!PinsAt(slot)->compare_exchange_strong(unpinned, kDead, std::memory_order_acq_rel)) {
      break;
    }
    const uint32_t parent = ParentOf(slot);
    Free(slot);
    ++evicted;
    uint8_t& siblings = (*children)[parent];
    if (siblings != kManyChildren) { --siblings; }
    slot = parent;
  }
  return evicted;
}

void InternTable::Free(uint32_t slot) {
  Node* node = NodeAt(slot);
  const uint32_t generation = GenerationOf(node->parent.load(std::memory_order_relaxed));
  --live_;
  if (generation == kMaxGeneration) { return; }  // retired: it has no id left to give
  node->parent.store((generation + 1) << kSlotBits, std::memory_order_release);
  node->next = kNone;
  if (free_first_ == kNone) {
    free_first_ = slot;
  } else {
    NodeAt(free_last_)->next = slot;
  }
  free_last_ = slot;
}

void InternTable::SweepSites() {
  std::vector<bool> used(next_site_, false);
  for (uint32_t slot = 1; slot < next_slot_; ++slot) {
    if (Live(slot)) { used[NodeAt(slot)->site.load(std::memory_order_relaxed)] = true; }
  }
  for (uint32_t site = 1; site < next_site_; ++site) {
    Site& s = SiteAt(site);
    if (used[site] || s.code == nullptr) { continue; }
    auto code = codes_.find(s.code);
    if (--code->second.sites == 0) {
      bytes_ -= code->second.bytes;
      released_.push_back(code->second.record);
      codes_.erase(code);
    }
    s = Site{nullptr, nullptr, 0, free_site_};
    free_site_ = site;
    --site_count_;
  }
  RehashSites(site_heads_.size());
}

void InternTable::ReleaseCodes() {
  for (void* record : TakeReleasedCodes()) { keeper_->Release(record); }
}

}  // namespace pystack
}  // namespace oneflow
