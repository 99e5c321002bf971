#pragma once

#include "experiments/run/overrides.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/io/layout_string.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/optimizer_recipe.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// What is computed again in a backward.
enum class RecomputedPart { Nothing, Attention, Blocks };

/// How a step trains.
struct StepTraining {
  std::int64_t zero = 0;
  std::optional<OptimizerRecipe> optimizer;
  Bytes gradient_bucket;
  RecomputedPart recompute = RecomputedPart::Nothing;
  friend bool operator==(const StepTraining&, const StepTraining&) = default;
};

/// A training step that was measured, and the run that it was part of.
struct MeasuredStep {
  InputPlace place;       ///< of its row
  std::string name;       ///< `row 3` where the table has no names
  std::string framework;  ///< what ran it
  std::string model;      ///< a network, or a file relative to the table
  FileValues sizes;       ///< in place of those of an architecture file
  std::optional<std::int64_t> sequence;
  std::optional<std::string> platform;  ///< as `model`; none where the table leaves it open
  std::optional<std::string> precision;
  std::int64_t microbatch_size = 1;
  std::int64_t global_batch = 1;
  Degrees degrees;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t chunks = 1;             ///< stages on each device of a pipeline
  std::optional<LayoutString> layout;  ///< of the stages; none: as many blocks on each
  StepTraining training;
  Seconds time;
  std::optional<Bytes> peak_memory;  ///< of the fullest device
  friend bool operator==(const MeasuredStep&, const MeasuredStep&) = default;
};

/// A row that is not compared with anything.
struct LeftOutStep {
  std::string name;
  std::string reason;
};

/// A table of measured steps.
struct MeasuredTable {
  std::vector<MeasuredStep> steps;
  std::vector<LeftOutStep> left_out;
};

/// The names of all columns that a table of steps may have.
[[nodiscard]] const std::vector<std::string>& measured_columns();

/// A table with a header (docs/reference/formats/steps.md), of at least one step that is not left out.
/// **Throws** InputError, at its place, for an unknown, repeated or missing column and for a value that none has.
[[nodiscard]] MeasuredTable parse_measured_steps(std::string_view text, const std::string& file);

}  // namespace stagecraft
