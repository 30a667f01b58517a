// The structures of DLPack, a protocol for sharing arrays between libraries in one process.
//
// Declared by us from its specification (versions 0.8 and 1.x): the layout is a fixed ABI.
// Thread safety: plain values.
// Source: https://dmlc.github.io/dlpack/latest/c_api.html
#ifndef ONEFLOW_API_PYTHON_DLPACK_H_
#define ONEFLOW_API_PYTHON_DLPACK_H_

#include <cstdint>

namespace oneflow {
namespace dlpack {

inline constexpr int32_t kCpu = 1;
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kIsCopied = 2;

struct DlDevice {
  int32_t type;
  int32_t id;
};

struct DlDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; nullptr: dense
  uint64_t byte_offset;
};

struct Managed {
  DlTensor tensor;
  void* manager;
  void (*deleter)(Managed* self);  // may be nullptr
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct ManagedVersioned {
  Version version;
  void* manager;
  void (*deleter)(ManagedVersioned* self);  // may be nullptr
  uint64_t flags;
  DlTensor tensor;
};

}  // namespace dlpack
}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_DLPACK_H_
