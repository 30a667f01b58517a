#include "oneflow/vm/arrangement.h"

#include <memory>
#include <vector>

#include "oneflow/common/mutex.h"

namespace oneflow {

namespace {

struct Known {
  Mutex mutex;
  std::vector<std::unique_ptr<const Arrangement>> all GUARDED_BY(mutex);
};

}  // namespace

const Arrangement* Arrangement::Of(const ArrangementKind& kind, const Shape& shape,
                                   DataType dtype) {
  static auto* known = new Known();  // never destroyed, as storages refer to what is in it
  MutexLock lock(&known->mutex);
  for (const auto& other : known->all) {
    if (other->kind == &kind && other->shape == shape && other->dtype == dtype) {
      return other.get();
    }
  }
  known->all.push_back(std::make_unique<const Arrangement>(Arrangement{&kind, shape, dtype}));
  return known->all.back().get();
}

}  // namespace oneflow
