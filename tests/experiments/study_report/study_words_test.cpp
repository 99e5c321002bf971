#include "experiments/study_report/study_words.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/text.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

TEST_CASE("study words: a figure is shown in its unit, and its heading leaves the unit out") {
  CHECK(figure_text("throughput_samples_per_s", 12.5) == "12.5 samples/s");
  CHECK(column_heading("throughput_samples_per_s") == "throughput");
  CHECK(figure_text("iteration_time_s", 0.25) == format_human_seconds(Seconds(0.25)));
  CHECK(column_heading("iteration_time_s") == "iteration time");
  CHECK(figure_text("peak_memory_bytes", 1 << 20) == format_human_bytes(Bytes(1 << 20)));
  CHECK(column_heading("peak_memory_bytes") == "peak memory");
  CHECK(figure_text("bubble_ratio", 0.25) == percent(0.25));
  CHECK(figure_text("prediction_error", 0.25) == "0.25");
  CHECK(figure_text("stages", 4) == "4");
  CHECK(column_heading("stages") == "stages");
}

TEST_CASE("study words: the end of its name tells the unit of a figure of the planner's own") {
  CHECK(figure_text("details.claimed_period_s", 0.25) == format_human_seconds(Seconds(0.25)));
  CHECK(column_heading("details.claimed_period_s") == "claimed period");
  CHECK(figure_text("details.table_bytes", 1 << 20) == format_human_bytes(Bytes(1 << 20)));
  CHECK(column_heading("details.table_bytes") == "table");
  CHECK(figure_text("details.hit_ratio", 0.5) == percent(0.5));
  CHECK(figure_text("details.depth", 3) == "3");
  CHECK(figure_text("details.is_exact", true) == "yes");
}

}  // namespace
}  // namespace stagecraft
