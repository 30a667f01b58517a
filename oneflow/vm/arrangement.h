// Arrangement: an order, other than the plain one, in which a storage's memory holds a dense array.
//
// The same bytes in another order: what a kernel reads fastest, where nobody but instructions that know
// of it looks at the memory. A tensor knows nothing of it. The vm brings the memory into an order, and
// back, by instructions of its own: an OpCall says how each of its storages must lie, which is plain
// unless it says otherwise, and so does the host before it reads. So what knows of no arrangement
// never meets one.
//
// The record (Storage::arrangement) says how the memory lies for an instruction that is issued now,
// not how it lies now: instructions that are queued may still be to change it.
//
// Thread safety: immutable. Ownership: lives as long as the process; compared by address.
#ifndef ONEFLOW_VM_ARRANGEMENT_H_
#define ONEFLOW_VM_ARRANGEMENT_H_

#include "oneflow/core/dtype.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {

// Kernels of one output and no input, the plain array, whose elements they move in place. They serve any
// such array that the kind names, say what they cost, want no scratch, and never fail: half in one order
// and half in another memory would hold nothing.
struct ArrangementKind {
  const char* name;
  const Kernel* arrange;
  const Kernel* restore;
};

struct Arrangement {
  const ArrangementKind* kind;
  Shape shape;  // of the plain array, all of the storage
  DataType dtype;

  // The one of such members.
  static const Arrangement* Of(const ArrangementKind& kind, const Shape& shape, DataType dtype);
};

}  // namespace oneflow

#endif  // ONEFLOW_VM_ARRANGEMENT_H_
