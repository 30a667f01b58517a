#include "oneflow/api/python/tape_gc.h"

#include <unordered_map>
#include <vector>

#include "oneflow/common/planted_fault.h"

namespace oneflow {

std::atomic<int64_t> OnTape::count_{0};

namespace {

// Of a larger part of the tape nothing is told, so that a collection stays short.
constexpr size_t kMaxVisited = 100000;

// Finds what one reference keeps alive: an object is, once as many references to it have been met
// as it counts. The collector walks twice and must be told the same both times: so it is, since
// nothing here depends on anything but the tape, and nothing runs between the two walks.
class Walk {
 public:
  Walk(visitproc visit, void* arg) : visit_(visit), arg_(arg) {}

  void Meet(const Tensor* tensor) {
    if (tensor != nullptr && IsLast(tensor, tensor->ref_count())) { tensors_.push_back(tensor); }
  }
  void Meet(const GradFnBase* node) {
    if (node != nullptr && IsLast(node, node->ref_count())) {
      nodes_.push_back(static_cast<const Node*>(node));
    }
  }

  int Run() {
    const std::function<void(const Tensor*)> meet = [this](const Tensor* t) { Meet(t); };
    for (size_t visited = 0; visited < kMaxVisited; ++visited) {
      if (!tensors_.empty()) {
        const Tensor* tensor = tensors_.back();
        tensors_.pop_back();
        if (const int stop = Visit(*tensor)) { return stop; }
      } else if (!nodes_.empty()) {
        const Node* node = nodes_.back();
        nodes_.pop_back();
        if (const int stop = Visit(*node, meet)) { return stop; }
      } else {
        break;
      }
    }
    return 0;
  }

 private:
  bool IsLast(const void* object, int32_t references) {
    return references == 1 || ++met_[object] == references;
  }

  int VisitObject(void* object) {
    return object == nullptr ? 0 : visit_(static_cast<PyObject*>(object), arg_);
  }

  int Visit(const Tensor& tensor) {
    const AutogradMeta* meta = tensor.autograd();
    if (meta == nullptr) { return 0; }
    Meet(meta->grad_fn.get());
    Meet(meta->accumulator.get());
    Meet(meta->grad.get());
    Meet(meta->view_base.get());
    for (const TensorHook& hook : meta->hooks) {
      if (const int stop = VisitObject(hook.host_object)) { return stop; }
    }
    return 0;
  }

  int Visit(const Node& node, const std::function<void(const Tensor*)>& meet) {
    for (const Edge& edge : node.edges()) { Meet(edge.node.get()); }
    node.VisitTensors(meet);
    for (const auto& [output, hook] : node.hooks()) {
      if (const int stop = VisitObject(hook.host_object)) { return stop; }
    }
    for (void* object : node.HostObjects()) {
      if (const int stop = VisitObject(object)) { return stop; }
    }
    return 0;
  }

  const visitproc visit_;
  void* const arg_;
  std::vector<const Tensor*> tensors_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const void*, int32_t> met_;
};

template <typename T>
int VisitFrom(const T& root, visitproc visit, void* arg, const Tensor* held) {
  if (!OnTape::Any() || root == nullptr || root->ref_count() != 1) { return 0; }
  if (FaultPlanted(Fault::kCollectorSeesNoHooks)) { return 0; }
  Walk walk(visit, arg);
  walk.Meet(root.get());
  walk.Meet(held);
  return walk.Run();
}

}  // namespace

int VisitTape(const TensorPtr& tensor, visitproc visit, void* arg, const Tensor* held) {
  if (tensor == nullptr || tensor->autograd() == nullptr) { return 0; }
  return VisitFrom(tensor, visit, arg, held);
}

int VisitTape(const NodePtr& node, visitproc visit, void* arg) {
  return VisitFrom(node, visit, arg, nullptr);
}

}  // namespace oneflow
