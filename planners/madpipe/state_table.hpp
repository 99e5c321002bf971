#pragma once

#include "sim/base/ticks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft::madpipe {

/// A state of the recurrence: the layers [0, layers) and `normal` normal devices are left, the special device already
/// has `load` and `memory`, and `delay` is V at the last of these layers. The last three are coordinates of a lattice.
struct State {
  std::uint32_t layers = 0;
  std::uint32_t normal = 0;
  std::int64_t load = 0;
  std::int64_t memory = 0;
  std::int64_t delay = 0;
  friend bool operator==(const State&, const State&) = default;
};

[[nodiscard]] inline std::uint64_t scramble(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15U;
  return value ^ (value >> 32U);
}

/// States packed into one number, which is possible if a grid bounds the coordinates.
class PackedKeys {
 public:
  using Key = std::uint64_t;
  /// `extents`: the number of values of each part of a state, in the order of its members.
  explicit PackedKeys(const std::array<std::uint64_t, 5>& extents) : extents_(extents) {}

  /// Whether every state gets a number of its own, that is, whether the product of the extents fits in 64 bits.
  [[nodiscard]] static bool can_hold(const std::array<std::uint64_t, 5>& extents) {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : extents) {
      if (__builtin_mul_overflow(product, extent, &product)) return false;
    }
    return true;
  }
  [[nodiscard]] Key pack(const State& state) const {
    const std::uint64_t places = state.layers * extents_[1] + state.normal;
    const std::uint64_t loads = places * extents_[2] + static_cast<std::uint64_t>(state.load);
    return (loads * extents_[3] + static_cast<std::uint64_t>(state.memory)) * extents_[4] +
           static_cast<std::uint64_t>(state.delay);
  }
  [[nodiscard]] static std::uint64_t hash(Key key) { return scramble(key); }

 private:
  std::array<std::uint64_t, 5> extents_;
};

/// Unpacked states as keys.
struct WideKeys {
  using Key = State;
  [[nodiscard]] static Key pack(const State& state) { return state; }
  [[nodiscard]] static std::uint64_t hash(const Key& key) {
    std::uint64_t hash = scramble(key.layers * std::uint64_t{1} << 32U | key.normal);
    for (const std::int64_t part : {key.load, key.memory, key.delay}) {
      hash = scramble(hash ^ static_cast<std::uint64_t>(part));
    }
    return hash;
  }
};

inline constexpr std::uint32_t kNoChoice = std::numeric_limits<std::uint32_t>::max();

/// What is known about a state: its value and its first best choice; without a choice, a lower bound of its value.
template <class Key>
struct StateEntry {
  Key key{};
  Ticks value = 0;
  std::uint32_t choice = kNoChoice;
};

/// The states reached so far, numbered in that order: a hash table with open addressing and linear probing, at most
/// half full.
template <class Keys>
class StateTable {
 public:
  using Entry = StateEntry<typename Keys::Key>;

  explicit StateTable(Keys keys) : keys_(keys), slots_(std::size_t{1} << 12U, kEmpty) {}

  /// Removes all states, but keeps the storage.
  void clear() {
    entries_.clear();
    slots_.assign(slots_.size(), kEmpty);
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] Entry& operator[](std::uint32_t index) { return entries_[index]; }

  /// The index of a state's entry, which is created if there is none.
  [[nodiscard]] std::uint32_t find(const State& state) {
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    const typename Keys::Key key = keys_.pack(state);
    std::size_t slot = Keys::hash(key) & (slots_.size() - 1);
    while (slots_[slot] != kEmpty) {
      if (entries_[slots_[slot]].key == key) return slots_[slot];
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({key, 0, kNoChoice});
    return slots_[slot];
  }

 private:
  static constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();

  void grow() {
    slots_.assign(2 * slots_.size(), kEmpty);
    for (std::uint32_t index = 0; index < entries_.size(); ++index) {
      std::size_t slot = Keys::hash(entries_[index].key) & (slots_.size() - 1);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = index;
    }
  }

  Keys keys_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace stagecraft::madpipe
