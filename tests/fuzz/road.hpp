#pragma once

#include "sim/base/error.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft::fuzz {

/// Runs what may refuse its input. Returns whether it did not.
template <class Step>
bool takes(const Step& step) {
  try {
    step();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// A finding if the text would move a terminal's cursor or ring its bell.
void check_printable(const std::string& text);

/// The model and the platform of the test vectors that plans and schedules are read against.
[[nodiscard]] const LayerGraph& toy_graph();
[[nodiscard]] const Platform& toy_platform();
/// A plan for them whose stages, a layer each, go down two devices and up again.
[[nodiscard]] const Plan& folded_plan();

/// Where a model goes: written and read back, and, if it is small, described and scaled.
void follow(const Model& model);
/// Where a platform goes: written and read back, and, if it is small, built and described.
void follow(const PlatformSpec& spec);

}  // namespace stagecraft::fuzz
