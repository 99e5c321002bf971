#include "experiments/measured/kineto_timeline.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

/// A row of the timeline.
struct TimelineRow {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::size_t stage = 0;
  std::string operation;
  std::int64_t microbatch = -1;  ///< -1: none
  std::int64_t rank = 0;
  Bytes bytes{-1};  ///< -1: none
};

std::vector<TimelineRow> rows_of(const std::vector<KinetoProfile>& profiles,
                                 const std::vector<TransferKernel>& transfers) {
  std::vector<TimelineRow> rows;
  std::map<std::int64_t, std::size_t> stages;
  for (std::size_t stage = 0; stage < profiles.size(); ++stage) {
    const std::int64_t rank = profiles[stage].rank.value_or(static_cast<std::int64_t>(stage));
    stages.emplace(rank, stage);
    for (const KinetoOperation& each : profiles[stage].operations) {
      rows.push_back({profiles[stage].base_time + each.start, profiles[stage].base_time + each.end, stage,
                      each.is_backward ? "backward" : "forward", each.pass, rank});
    }
  }
  for (const TransferKernel& each : transfers) {
    rows.push_back({each.end.start, each.end.start + each.end.duration, stages.at(each.rank), each.kind, -1, each.rank,
                    each.end.bytes});
  }
  std::ranges::sort(rows, {}, [](const TimelineRow& row) { return std::tuple(row.start, row.stage, row.end); });
  return rows;
}

Detail::Record row_record(const TimelineRow& row, Nanoseconds first) {
  const std::string place = "rank" + std::to_string(row.rank);
  Detail::Record record{{"op", row.operation},
                        {"stage", static_cast<std::int64_t>(row.stage)},
                        {"microbatch", row.microbatch < 0 ? Detail() : Detail(row.microbatch)},
                        {"from", place},
                        {"to", place},
                        {"start_s", to_seconds(row.start - first).value()},
                        {"end_s", to_seconds(row.end - first).value()}};
  if (row.bytes >= Bytes(0)) record.emplace_back("bytes", row.bytes.value());
  return record;
}

}  // namespace

Description describe_timeline(const std::vector<KinetoProfile>& profiles,
                              const std::vector<TransferKernel>& transfers) {
  Table table{{"operation", "rank", "stage", "microbatch", "start", "end"}, {}};
  Detail::List list;
  const std::vector<TimelineRow> rows = rows_of(profiles, transfers);
  for (const TimelineRow& row : rows) {
    const Nanoseconds first = rows.front().start;
    table.rows.push_back({row.operation, std::to_string(row.rank), std::to_string(row.stage),
                          row.microbatch < 0 ? "-" : std::to_string(row.microbatch),
                          format_human_seconds(to_seconds(row.start - first)),
                          format_human_seconds(to_seconds(row.end - first))});
    list.emplace_back(row_record(row, first));
  }
  return {rows.empty() ? "" : to_text(table), {{"timeline", std::move(list)}}};
}

}  // namespace stagecraft
