#include "oneflow/graph/passes/fusion.h"

#include <map>
#include <utility>

namespace oneflow {
namespace graph {

namespace {

// What the nodes of one group do to a buffer: elements [offset, offset + n), each at its own index.
struct Access {
  int64_t offset;
  DataType dtype;
  bool written;
  bool whole;  // all n elements; else one, which every tile reads
};

}  // namespace

bool IsOneElement(const TensorMeta& meta) {
  for (int i = 0; i < meta.shape.size(); ++i) {
    if (meta.shape[i] != 1 && meta.strides[i] != 0) { return false; }
  }
  return meta.Count() > 0;
}

namespace {

class Fuser {
 public:
  explicit Fuser(const LogicalGraph& graph) : graph_(graph) {}

  PassResult Run() {
    std::vector<Node>& nodes = *graph_.mutable_nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      if (node.form == Form::kView) { continue; }
      const int64_t n = TileableCount(node);
      if (n < 0) {
        Close();
        continue;
      }
      if (n != n_ || members_.size() == kMaxFusedNodes || !Joins(node)) {
        Close();
        n_ = n;
        Joins(node);
      }
      members_.push_back(i);
    }
    Close();
    return PassResult{std::move(graph_), fired_};
  }

 private:
  // The number of elements that `node` goes through, -1 if it does not go through them one by one.
  int64_t TileableCount(const Node& node) const {
    if (!node.Computes() || node.draws() || !IsElementwise(*node.def) || node.outputs.empty()) {
      return -1;
    }
    const TensorMeta& out = graph_.value(node.outputs[0]).meta;
    const int64_t n = out.Count();
    if (n < kSmallestFused || out.device.type() != DeviceType::kCPU) { return -1; }
    for (ValueId id : node.outputs) {
      const TensorMeta& meta = graph_.value(id).meta;
      if (meta.shape != out.shape || !meta.contiguous) { return -1; }
    }
    for (ValueId id : node.inputs) {
      if (id == kNoValue) { return -1; }
      const TensorMeta& meta = graph_.value(id).meta;
      if (!IsOneElement(meta) && (meta.shape != out.shape || !meta.contiguous)) { return -1; }
    }
    return n;
  }

  bool Agrees(ValueId id, bool writes) const {
    const auto found = accesses_.find(graph_.BufferOf(id));
    if (found == accesses_.end()) { return true; }
    const Access& access = found->second;
    if (!access.written && !writes) { return true; }
    const TensorMeta& meta = graph_.value(id).meta;
    return access.whole && !IsOneElement(meta) && meta.offset == access.offset &&
           meta.dtype == access.dtype;
  }

  // Notes what `node` does if that goes with the group.
  bool Joins(const Node& node) {
    for (ValueId id : node.inputs) {
      if (!Agrees(id, false)) { return false; }
    }
    for (ValueId id : node.outputs) {
      if (!Agrees(id, true)) { return false; }
    }
    const auto note = [&](ValueId id, bool written) {
      const TensorMeta& meta = graph_.value(id).meta;
      const Access access{meta.offset, meta.dtype, written, !IsOneElement(meta)};
      const auto [at, is_new] = accesses_.emplace(graph_.BufferOf(id), access);
      if (is_new) { return; }
      const bool same = at->second.offset == access.offset && at->second.dtype == access.dtype;
      at->second.whole = at->second.whole && access.whole && same;
      at->second.written = at->second.written || written;
    };
    for (ValueId id : node.inputs) { note(id, false); }
    for (ValueId id : node.outputs) { note(id, true); }
    return true;
  }

  void Close() {
    if (members_.size() > 1) {
      for (size_t i : members_) { (*graph_.mutable_nodes())[i].fused = groups_; }
      ++groups_;
      fired_ += static_cast<int64_t>(members_.size()) - 1;
    }
    members_.clear();
    accesses_.clear();
    n_ = -1;
  }

  LogicalGraph graph_;
  int64_t n_ = -1;
  std::vector<size_t> members_;
  std::map<BufferId, Access> accesses_;
  int groups_ = 0;
  int64_t fired_ = 0;
};

}  // namespace

Maybe<PassResult> FuseElementwise(const LogicalGraph& graph) { return Fuser(graph).Run(); }

}  // namespace graph
}  // namespace oneflow
