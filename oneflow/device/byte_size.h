// Sizes in bytes as people write and read them.
//
// Thread safety: pure functions. Never throws.
#ifndef ONEFLOW_DEVICE_BYTE_SIZE_H_
#define ONEFLOW_DEVICE_BYTE_SIZE_H_

#include <cstdint>
#include <string>

namespace oneflow {

// Reads "1048576", "512K", "1.5G" (powers of 1024; K, M, G or T, and a B or iB after it).
// False when the text says something else.
bool ParseBytes(const std::string& text, int64_t* bytes);

// "512 bytes", "1.50 MiB", "64.00 TiB".
std::string FormatBytes(int64_t bytes);

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_BYTE_SIZE_H_
