#pragma once

#include "sim/model/report.hpp"
#include "sim/schedule/updates.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagecraft {

struct Plan;

/// The samples per update of the stages with the fewest and the most: `32`, or `32 to 480`.
[[nodiscard]] std::string samples_text(const std::vector<StageUpdates>& updates);

/// A line with what the updates of a plan's stages sum up: `updates: 32 to 480 samples, staleness 1 to 2`.
[[nodiscard]] std::string updates_text(const std::vector<StageUpdates>& updates);

/// How well the two windows of an asynchronous run agree: `a microbatch takes 0.02 % less in the second half …`; and if
/// they do on a period that cannot last, that it cannot.
[[nodiscard]] std::string drift_text(const Report& report);

/// A sentence above a table whose rows have those samples per update, with the option that makes them equal; empty if
/// they are.
[[nodiscard]] std::string different_updates_text(const std::set<std::int64_t>& samples);

/// The size of the buckets in which the replicas of a plan exchange gradients, 0 if they do so after the backward and 1
/// byte if layer by layer; nothing if no layer has several replicas.
[[nodiscard]] std::optional<Bytes> exchanged_buckets(const Plan& plan);

/// A sentence above a table of which several rows exchange gradients, in buckets of different sizes; else empty.
/// `planners` are the rows' planners by that size.
[[nodiscard]] std::string different_buckets_text(const std::map<Bytes, std::vector<std::string>>& planners);

}  // namespace stagecraft
