#pragma once

#include "sim/base/index.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// What has reached one replica for each of its live microbatches: which operations bring its inputs, and which ones it
/// has run itself. Microbatches are numbered as the replica runs them.
class MicrobatchBoard {
 public:
  struct Entry {
    std::uint32_t forward_arrived = 0;
    std::uint32_t backward_arrived = 0;
    OpId forward;  ///< none: not emitted
    OpId input;    ///< the input-gradient half
    OpId swap_out;
    OpId swap_in;
    bool finished = false;
  };

  MicrobatchBoard(std::uint32_t forward_inputs, std::uint32_t backward_inputs)
      : forward_inputs_(forward_inputs), backward_inputs_(backward_inputs) {}

  [[nodiscard]] Entry& at(std::int64_t index);
  void arrive_forward(std::int64_t index, OpId op);
  void arrive_backward(std::int64_t index, OpId op);
  [[nodiscard]] bool has_forward_inputs(std::int64_t index) { return at(index).forward_arrived >= forward_inputs_; }
  [[nodiscard]] bool has_backward_inputs(std::int64_t index) { return at(index).backward_arrived >= backward_inputs_; }
  [[nodiscard]] std::span<OpId> forward_inputs(std::int64_t index);
  [[nodiscard]] std::span<OpId> backward_inputs(std::int64_t index);
  /// The microbatch's backward is over.
  void finish(std::int64_t index);
  /// An iteration is over: entries below `index` are forgotten, those of microbatches that the replica never ran
  /// included.
  void restart(std::int64_t index);
  [[nodiscard]] bool is_finished(std::int64_t index) { return index < begin_ || at(index).finished; }

  /// The smallest operation that a live entry names; `none` without any. **Cost** O(live entries).
  [[nodiscard]] OpId oldest() const;

 private:
  void grow(std::int64_t index);
  [[nodiscard]] std::size_t slot(std::int64_t index) const {
    return static_cast<std::size_t>(index) & (entries_.size() - 1);
  }

  std::uint32_t forward_inputs_;
  std::uint32_t backward_inputs_;
  std::int64_t begin_ = 0;  ///< entries before it are finished
  std::int64_t end_ = 0;
  std::vector<Entry> entries_;
  std::vector<OpId> forward_ops_;  ///< forward_inputs_ for each entry
  std::vector<OpId> backward_ops_;
};

}  // namespace stagecraft
