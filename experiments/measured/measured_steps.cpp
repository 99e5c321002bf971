#include "experiments/measured/measured_steps.hpp"

#include "experiments/run/limits.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv_file.hpp"
#include "sim/io/plan_degrees.hpp"
#include "sim/model/training.hpp"
#include "sim/workload/device.hpp"
#include "sim/workload/transformer.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostInPipeline = 4096;
constexpr std::int64_t kMostOfSize = std::int64_t{1} << 32;  ///< what a network may have is said by its file's reader
constexpr std::size_t kLongestName = 100;
constexpr Seconds kShortestStep(1e-9);
constexpr Seconds kLongestStep(1e6);

/// Keys of an architecture file.
const std::vector<std::string>& size_columns() {
  static const std::vector<std::string> keys = {"layers",          "hidden",       "heads",
                                                "key_value_heads", "feed_forward", "vocabulary"};
  return keys;
}

/// One row of the table. A field that is empty counts as absent.
class StepRow {
 public:
  StepRow(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  [[nodiscard]] std::optional<std::string> text(const std::string& column) const {
    const auto at = std::ranges::find(table_.columns(), column);
    if (at == table_.columns().end()) return std::nullopt;
    const std::string& field = table_.at(row_, static_cast<std::size_t>(at - table_.columns().begin()));
    return field.empty() ? std::nullopt : std::optional(field);
  }

  [[nodiscard]] std::string required(const std::string& column) const {
    if (auto found = text(column)) return *std::move(found);
    throw InputError("a row needs a value", place(column));
  }

  [[nodiscard]] std::int64_t count(const std::string& column, std::int64_t least, std::int64_t most) const {
    const std::string found = required(column);
    const Parsed<std::int64_t> value = parse_count(found);
    if (value && *value.value >= least && *value.value <= most) return *value.value;
    fail("a whole number from " + std::to_string(least) + " to " + std::to_string(most), found, column);
  }

  [[nodiscard]] std::int64_t count_or(const std::string& column, std::int64_t usual, std::int64_t least,
                                      std::int64_t most) const {
    return text(column) ? count(column, least, most) : usual;
  }

  [[nodiscard]] bool is(const std::string& column, const std::string& yes, const std::string& no, bool usual) const {
    const auto found = text(column);
    if (!found) return usual;
    if (*found != yes && *found != no) fail(quote(yes) + " or " + quote(no), *found, column);
    return *found == yes;
  }

  [[nodiscard]] InputPlace place(const std::string& column) const { return table_.place(row_, table_.column(column)); }

  [[noreturn]] void fail(const std::string& expected, const std::string& found, const std::string& column) const {
    throw InputError("expected " + expected + ", found " + quote(found), place(column));
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

Seconds read_time(const StepRow& row) {
  const bool has_unit = row.text("iteration_time").has_value();
  const std::string column = has_unit ? "iteration_time" : "iteration_time_s";
  const std::string text = row.required(column);
  const Parsed<Seconds> time = parse_seconds(has_unit ? text : text + " s");
  if (time && *time.value >= kShortestStep && *time.value <= kLongestStep) return *time.value;
  row.fail(has_unit ? "a time of more than zero with its unit, such as '1.25 s'" : "a number of seconds above zero",
           text, column);
}

std::optional<Bytes> read_size(const StepRow& row, const std::string& column) {
  const auto text = row.text(column);
  if (!text) return std::nullopt;
  const Parsed<Bytes> size = parse_bytes(*text);
  if (!size) throw InputError(size.problem, row.place(column), size.hint);
  return size.value;
}

RecomputedPart read_recompute(const StepRow& row) {
  const std::string text = row.text("recompute").value_or("none");
  if (text == "none") return RecomputedPart::Nothing;
  if (text == "selective") return RecomputedPart::Attention;
  if (text == "full") return RecomputedPart::Blocks;
  row.fail("'none', 'selective' or 'full'", text, "recompute");
}

std::optional<LayoutString> read_layout(const StepRow& row) {
  const auto text = row.text("layout");
  if (!text) return std::nullopt;
  try {
    return parse_layout(*text, InputPlace{});
  } catch (const InputError& error) {
    const std::string where = " (character " + std::to_string(error.place().column) + " of " + quote(*text) + ")";
    throw InputError(error.message() + where, row.place("layout"), error.hint());
  }
}

std::optional<OptimizerRecipe> read_recipe(const StepRow& row) {
  const auto text = row.text("optimizer");
  if (!text) return std::nullopt;
  if (const auto recipe = optimizer_recipe_of(*text)) return recipe;
  throw InputError("no recipe of an optimizer is called " + quote(*text), row.place("optimizer"),
                   suggest_name(*text, optimizer_recipe_names()));
}

FileValues read_sizes(const StepRow& row) {
  FileValues sizes;
  for (const std::string& key : size_columns()) {
    if (row.text(key)) sizes.emplace_back(key, row.count(key, 1, kMostOfSize));
  }
  return sizes;
}

Degrees read_row_degrees(const StepRow& row) {
  Degrees degrees;
  degrees.tensor = row.count_or("tensor", 1, 1, kMostInGroup);
  degrees.context = row.count_or("context", 1, 1, kMostInGroup);
  degrees.expert = row.count_or("expert", 1, 1, kMostInGroup);
  degrees.sequence = row.is("sequence_parallel", "true", "false", true);
  degrees = reduced(degrees);
  if (const auto problem = degrees_problem(degrees)) throw InputError(*problem, row.place("expert"));
  return degrees;
}

std::string name_of(const StepRow& row, std::size_t number) {
  const std::string name = row.text("name").value_or("row " + std::to_string(number + 1));
  if (name.size() <= kLongestName) return name;
  row.fail("a name of at most " + std::to_string(kLongestName) + " characters", name.substr(0, 20) + "…", "name");
}

std::optional<std::string> read_precision(const StepRow& row) {
  const auto text = row.text("precision");
  if (!text || precision_of(*text)) return text;
  std::vector<std::string> known;
  for (const Precision each : kAllPrecisions) known.emplace_back(to_string(each));
  throw InputError("unknown precision " + quote(*text), row.place("precision"), suggest_name(*text, known));
}

std::optional<Bytes> read_peak(const StepRow& row) {
  const auto peak = read_size(row, "peak_memory");
  if (!peak || *peak > Bytes(0)) return peak;
  row.fail("a size of more than zero, such as '16 GiB'", *row.text("peak_memory"), "peak_memory");
}

MeasuredStep read_step(const CsvTable& table, std::size_t number) {
  const StepRow row(table, number);
  MeasuredStep step;
  step.place = row.place("model");
  step.place.key.clear();
  step.name = name_of(row, number);
  step.model = row.required("model");
  step.framework = row.text("framework").value_or("");
  step.sizes = read_sizes(row);
  step.platform = row.text("platform");
  step.precision = read_precision(row);
  if (row.text("sequence")) step.sequence = row.count("sequence", 1, largest_transformer().sequence);
  step.microbatch_size = row.count("microbatch_size", 1, run_limits::kMostSamples);
  step.global_batch = row.count("global_batch", 1, run_limits::kMostSamples);
  step.degrees = read_row_degrees(row);
  step.pipeline = row.count_or("pipeline", 1, 1, kMostInPipeline);
  step.data = row.count_or("data", 1, 1, kMostInPipeline);
  step.chunks = row.count_or("chunks", 1, 1, kMostInPipeline);
  step.training.zero = row.count_or("zero", 0, 0, kMostDivided);
  step.layout = read_layout(row);
  step.training.optimizer = read_recipe(row);
  step.training.gradient_bucket = read_size(row, "gradient_bucket").value_or(Bytes(0));
  step.training.recompute = read_recompute(row);
  step.time = read_time(row);
  step.peak_memory = read_peak(row);
  if (step.chunks > 1 && step.pipeline == 1) {
    throw InputError("several chunks need a pipeline of several devices", row.place("chunks"),
                     "give the column 'pipeline'");
  }
  return step;
}

void check_columns(const CsvTable& table, const std::string& file) {
  const std::vector<std::string>& columns = table.columns();
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (std::ranges::find(measured_columns(), *column) == measured_columns().end()) {
      throw InputError("no column of measured steps is called " + quote(*column), {file, 0, 0, ""},
                       suggest_name(*column, measured_columns()));
    }
    if (std::find(columns.begin(), column, *column) != column) {
      throw InputError("the column " + quote(*column) + " comes twice", {file, 0, 0, ""});
    }
  }
  for (const char* required : {"model", "microbatch_size", "global_batch"}) {
    if (std::ranges::find(columns, required) != columns.end()) continue;
    throw InputError("the column " + quote(required) + " is missing", {file, 0, 0, ""},
                     "the columns 'model', 'microbatch_size', 'global_batch' and 'iteration_time' are required");
  }
  const auto times = std::ranges::count_if(
      columns, [](const std::string& name) { return name == "iteration_time" || name == "iteration_time_s"; });
  if (times == 1) return;
  throw InputError(times == 0 ? "the column 'iteration_time' is missing" : "the time of a step has two columns",
                   {file, 0, 0, ""}, "'iteration_time' has a unit, 'iteration_time_s' is in seconds; give one of them");
}

}  // namespace

const std::vector<std::string>& measured_columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {
        "name",        "model",    "sequence",  "platform",        "precision", "microbatch_size",   "global_batch",
        "pipeline",    "data",     "tensor",    "context",         "expert",    "sequence_parallel", "chunks",
        "layout",      "zero",     "optimizer", "gradient_bucket", "recompute", "iteration_time",    "iteration_time_s",
        "peak_memory", "left_out", "framework", "source"};
    all.insert(all.end(), size_columns().begin(), size_columns().end());
    return all;
  }();
  return names;
}

MeasuredTable parse_measured_steps(std::string_view text, const std::string& file) {
  const CsvTable csv(text, file);
  check_columns(csv, file);
  MeasuredTable table;
  for (std::size_t number = 0; number < csv.rows(); ++number) {
    const StepRow row(csv, number);
    if (auto reason = row.text("left_out")) {
      table.left_out.push_back({name_of(row, number), *std::move(reason)});
    } else {
      table.steps.push_back(read_step(csv, number));
    }
  }
  if (table.steps.empty()) {
    throw InputError("every row is left out", {file, 0, 0, ""}, "a row without a field 'left_out' is compared");
  }
  return table;
}

}  // namespace stagecraft
