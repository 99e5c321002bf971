#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace stagecraft {

/// A queue in a ring buffer whose items keep their global positions while older ones are dropped. Its memory follows
/// the number of live items, rounded up to a power of two.
template <class T>
class Ring {
 public:
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] T& operator[](std::uint64_t position) { return items_[position & (items_.size() - 1)]; }
  [[nodiscard]] const T& operator[](std::uint64_t position) const { return items_[position & (items_.size() - 1)]; }

  /// Appends and returns the position.
  std::uint64_t push_back(T item) {
    if (end_ - begin_ == items_.size()) grow();
    (*this)[end_] = std::move(item);
    return end_++;
  }
  /// Makes space for `count` more items at once.
  void reserve(std::uint64_t count) {
    std::uint64_t size = items_.empty() ? 64 : items_.size();
    while (size < end_ - begin_ + count) size *= 2;
    if (size > items_.size()) grow_to(size);
  }
  /// Appends an item with whatever value its place in the buffer last had, for the caller to overwrite.
  T& extend() {
    if (end_ - begin_ == items_.size()) grow();
    return (*this)[end_++];
  }
  /// The items [begin, end) if they are contiguous in memory; else null.
  [[nodiscard]] const T* run(std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t mask = items_.size() - 1;
    return (begin & mask) <= ((end - 1) & mask) ? &items_[begin & mask] : nullptr;
  }
  void drop_before(std::uint64_t position) { begin_ = position; }

 private:
  void grow() { grow_to(items_.empty() ? 64 : items_.size() * 2); }
  void grow_to(std::uint64_t size) {
    std::vector<T> larger(size);
    for (std::uint64_t i = begin_; i != end_; ++i) larger[i & (larger.size() - 1)] = std::move((*this)[i]);
    items_ = std::move(larger);
  }

  std::vector<T> items_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace stagecraft
