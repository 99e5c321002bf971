#include "sim/schedule/fixed/device_order.hpp"

namespace stagecraft {

Action action_of(ActionKind kind, std::int64_t stage, std::int64_t microbatch) {
  Action action;
  action.kind = kind;
  action.stage = StageId(stage);
  action.microbatch = static_cast<std::uint32_t>(microbatch);
  return action;
}

void DeviceOrderWriter::forward(std::int64_t stage, std::int64_t microbatch) {
  actions_.push_back(action_of(ActionKind::Forward, stage, microbatch));
}

void DeviceOrderWriter::backward(std::int64_t stage, std::int64_t microbatch) {
  actions_.push_back(action_of(ActionKind::Backward, stage, microbatch));
}

void DeviceOrderWriter::input(std::int64_t stage, std::int64_t microbatch) {
  actions_.push_back(action_of(ActionKind::BackwardInput, stage, microbatch));
  pending_.push_back(action_of(ActionKind::BackwardWeight, stage, microbatch));
}

void DeviceOrderWriter::oldest_weight() {
  actions_.push_back(pending_.front());
  pending_.pop_front();
}

void DeviceOrderWriter::newest_weight() {
  actions_.push_back(pending_.back());
  pending_.pop_back();
}

}  // namespace stagecraft
