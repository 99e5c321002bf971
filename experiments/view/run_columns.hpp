#pragma once

#include "experiments/view/run_marks.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <vector>

namespace stagecraft {

/// The record of a run as columns of numbers, which a page reads quickly. A column is the base64 text of little-endian
/// numbers: of 8 bytes (floating point) for times and bytes, of 4 (unsigned) for the rest.
///
/// Operations are in the order of `--timeline --json`, that of their starts. What many have in common (kind, stage,
/// track, bytes, route) is said once, as a class. Neighbours in this order that have their dates, their microbatch and
/// their waits in common, as members of a group have, are one row with the set of their classes.
/// **Cost** O(entries · log entries), some 60 bytes for each row.
[[nodiscard]] Detail::Record run_columns(const RunRecord& record, const std::vector<RunMark>& marks,
                                         const Platform& platform, bool crosses_links);

}  // namespace stagecraft
