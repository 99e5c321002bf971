#include "sim/schedule/lowering/measured_marks.hpp"

#include <algorithm>

namespace stagecraft {

void MeasuredMarks::note(WindowWriter& writer, std::uint32_t microbatch, OpId op, std::size_t runners) {
  const std::int64_t first = measured_.last - measured_.microbatches;
  if (microbatch != first && microbatch != measured_.middle && microbatch != measured_.last) return;
  std::vector<OpId>& ops = backwards_[microbatch];
  ops.push_back(op);
  if (ops.size() < runners) return;
  Op mark;
  mark.kind = OpKind::Barrier;
  mark.microbatch = microbatch;
  writer.append(mark);
  writer.depend_on(ops);
  backwards_.erase(microbatch);
}

OpId MeasuredMarks::oldest() const {
  OpId oldest = OpId::none();
  for (const auto& [microbatch, ops] : backwards_) {
    for (OpId op : ops) oldest = std::min(oldest, op);
  }
  return oldest;
}

}  // namespace stagecraft
