#include "oneflow/extension/stack/position_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace oneflow {
namespace pystack {

namespace {

constexpr int kCodeUnitBytes = 2;

// Steps over a table entry by entry. After a successful Next(), `position()` holds for instructions
// in [begin(), end()), in bytes.
class Cursor {
 public:
  Cursor(PositionFormat format, std::string_view table, int first_line)
      : format_(format), table_(table), line_(first_line) {}

  bool Next() {
    if (at_ >= table_.size()) { return false; }
    position_ = Position();
    return format_ == PositionFormat::kLines ? NextLines() : NextColumns();
  }

  int end() const { return end_; }
  const Position& position() const { return position_; }

 private:
  // Pairs of (length in bytes, change of line); the change -128 is "no line".
  bool NextLines() {
    if (table_.size() - at_ < 2) { return false; }
    const int length = static_cast<uint8_t>(table_[at_]);
    const int change = static_cast<int8_t>(table_[at_ + 1]);
    at_ += 2;
    end_ += length;
    if (change == -128) { return true; }
    line_ += change;
    position_.line = line_;
    position_.end_line = line_;
    return true;
  }

  // An entry opens with a byte that has its top bit set, then its kind and its length.
  bool NextColumns() {
    const uint8_t head = static_cast<uint8_t>(table_[at_++]);
    if ((head & 0x80) == 0) { return false; }
    end_ += ((head & 7) + 1) * kCodeUnitBytes;
    const int kind = (head >> 3) & 15;
    if (kind == 15) { return true; }
    if (kind == 14) { return LongForm(); }
    if (kind == 13) {
      line_ += SignedVarint();
      position_.line = position_.end_line = line_;
      return !overrun_;
    }
    if (kind >= 10) {
      line_ += kind - 10;
      position_.column = Byte();
      position_.end_column = Byte();
    } else {
      const int packed = Byte();
      position_.column = kind * 8 + ((packed >> 4) & 7);
      position_.end_column = position_.column + (packed & 15);
    }
    position_.line = position_.end_line = line_;
    return !overrun_;
  }

  bool LongForm() {
    line_ += SignedVarint();
    position_.line = line_;
    position_.end_line = line_ + Varint();
    position_.column = Varint() - 1;
    position_.end_column = Varint() - 1;
    return !overrun_;
  }

  int Byte() {
    if (at_ >= table_.size()) {
      overrun_ = true;
      return 0;
    }
    return static_cast<uint8_t>(table_[at_++]);
  }

  // Six bits in a byte, lowest first; bit 6 says that more follow.
  int Varint() {
    uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 6) {
      const uint32_t byte = static_cast<uint32_t>(Byte());
      value |= (byte & 63) << shift;
      if ((byte & 64) == 0) { break; }
    }
    return static_cast<int>(value & 0x7fffffff);
  }

  int SignedVarint() {
    const int value = Varint();
    return (value & 1) != 0 ? -(value >> 1) : value >> 1;
  }

  const PositionFormat format_;
  const std::string_view table_;
  size_t at_ = 0;
  int end_ = 0;
  int line_;
  bool overrun_ = false;
  Position position_;
};

}  // namespace

Position DecodePosition(PositionFormat format, std::string_view table, int first_line, int lasti) {
  Cursor cursor(format, table, first_line);
  if (lasti < 0) {  // the frame has not run an instruction yet
    Position position;
    position.line = first_line;
    position.end_line = first_line;
    return position;
  }
  while (cursor.Next()) {
    if (cursor.end() > lasti) { return cursor.position(); }
  }
  return Position();
}

int LastLine(PositionFormat format, std::string_view table, int first_line) {
  Cursor cursor(format, table, first_line);
  int last = first_line;
  while (cursor.Next()) {
    last = std::max({last, cursor.position().line, cursor.position().end_line});
  }
  return last;
}

}  // namespace pystack
}  // namespace oneflow
