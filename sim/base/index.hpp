#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

namespace stagecraft {

/// A position in one particular kind of list, so that a layer's number is never used to look up a device.
template <class Tag, class Rep = std::uint32_t>
class Index {
 public:
  using rep = Rep;

  constexpr Index() = default;
  constexpr explicit Index(Rep value) : value_(value) {}
  template <class Other>
    requires(!std::is_same_v<Other, Rep> && std::is_integral_v<Other>)
  constexpr explicit Index(Other value) : value_(static_cast<Rep>(value)) {}

  /// The index that refers to nothing; the default value of every index.
  static constexpr Index none() { return Index(); }
  [[nodiscard]] constexpr bool is_none() const { return value_ == std::numeric_limits<Rep>::max(); }

  [[nodiscard]] constexpr Rep value() const { return value_; }
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr auto operator<=>(Index a, Index b) = default;

 private:
  Rep value_ = std::numeric_limits<Rep>::max();
};

/// A vector that is read only by its own kind of index.
template <class Id, class T>
class IndexVector {
 public:
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  IndexVector() = default;
  explicit IndexVector(std::size_t count, const T& value = T()) : items_(count, value) {}
  IndexVector(std::initializer_list<T> items) : items_(items) {}
  explicit IndexVector(std::vector<T> items) : items_(std::move(items)) {}

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] bool contains(Id id) const { return id.value() < items_.size(); }
  [[nodiscard]] T& operator[](Id id) { return items_[id.value()]; }
  [[nodiscard]] const T& operator[](Id id) const { return items_[id.value()]; }
  [[nodiscard]] T& back() { return items_.back(); }
  [[nodiscard]] const T& back() const { return items_.back(); }

  /// Appends and returns the new item's index.
  Id push_back(T item) {
    items_.push_back(std::move(item));
    return Id(items_.size() - 1);
  }
  void resize(std::size_t count) { items_.resize(count); }
  void assign(std::size_t count, const T& value) { items_.assign(count, value); }
  void reserve(std::size_t count) { items_.reserve(count); }
  void clear() { items_.clear(); }

  /// The items without their indices, for algorithms.
  [[nodiscard]] const std::vector<T>& items() const { return items_; }
  [[nodiscard]] iterator begin() { return items_.begin(); }
  [[nodiscard]] iterator end() { return items_.end(); }
  [[nodiscard]] const_iterator begin() const { return items_.begin(); }
  [[nodiscard]] const_iterator end() const { return items_.end(); }

  friend bool operator==(const IndexVector&, const IndexVector&) = default;

 private:
  std::vector<T> items_;
};

/// All indices below `end`, for range-for loops: `for (LayerId id : indices<LayerId>(graph.layers.size()))`.
template <class Id>
class IndexRange {
 public:
  class Iterator {
   public:
    explicit constexpr Iterator(Id at) : at_(at) {}
    constexpr Id operator*() const { return at_; }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend constexpr bool operator==(Iterator a, Iterator b) = default;

   private:
    Id at_;
  };
  explicit constexpr IndexRange(std::size_t end) : end_(end) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(Id(0)); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(end_); }

 private:
  Id end_;
};

template <class Id>
constexpr IndexRange<Id> indices(std::size_t end) {
  return IndexRange<Id>(end);
}
template <class Id, class T>
IndexRange<Id> indices(const IndexVector<Id, T>& items) {
  return IndexRange<Id>(items.size());
}

using LayerId = Index<struct LayerTag>;
using DeviceKindId = Index<struct DeviceKindTag>;
using NodeKindId = Index<struct NodeKindTag>;
using NodeId = Index<struct NodeTag>;
using DeviceId = Index<struct DeviceTag>;
using HostId = Index<struct HostTag>;
using SwitchId = Index<struct SwitchTag>;
/// A device or a host: where memory lies and where transfers start and end (`Platform::place`).
using PlaceId = Index<struct PlaceTag>;
using LinkId = Index<struct LinkTag>;
using StageId = Index<struct StageTag>;
using ReplicaId = Index<struct ReplicaTag>;
using LaneId = Index<struct LaneTag>;
/// Global and increasing over all windows of a run.
using OpId = Index<struct OpTag, std::uint64_t>;

}  // namespace stagecraft
