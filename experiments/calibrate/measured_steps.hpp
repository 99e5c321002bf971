#pragma once

#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A training step that was measured, and the run that it was part of.
struct MeasuredStep {
  InputPlace place;   ///< of its row
  std::string name;   ///< `row 3` where the table has no names
  std::string model;  ///< a network, or a file relative to the table
  std::optional<std::int64_t> sequence;
  std::int64_t microbatch_size = 1;
  std::int64_t global_batch = 1;
  Degrees degrees;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t chunks = 1;  ///< stages on each device of a pipeline
  std::int64_t zero = 0;
  Bytes gradient_bucket;
  bool recomputes = false;  ///< every block
  Seconds time;
};

/// The names of all columns that a table of steps may have.
[[nodiscard]] const std::vector<std::string>& measured_columns();

/// The steps of a table with a header (docs/reference/formats/steps.md), at least one.
/// **Throws** InputError, at its place, for an unknown, repeated or missing column and for a value that none has.
[[nodiscard]] std::vector<MeasuredStep> parse_measured_steps(std::string_view text, const std::string& file);

}  // namespace stagecraft
