#include "sim/io/megatron_log.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/text_words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

constexpr Seconds kShortestLogged(1e-9);
constexpr Seconds kLongestLogged(1e6);
constexpr std::int64_t kMostLogged = 1'000'000'000'000;
constexpr const char* kLogHint =
    "such as ' iteration       10/     100 | … elapsed time per iteration (ms): 1234.5 | …'";

/// Arguments whose names are not those of their flags.
const std::map<std::string, std::string>& renamed_arguments() {
  static const std::map<std::string, std::string> names = {
      {"fp8", "fp8-format"},
      {"fp4", "fp4-format"},
      {"microbatch-group-size-per-vp-stage", "microbatch-group-size-per-virtual-pipeline-stage"},
  };
  return names;
}

/// Flags without a default value, so that an argument stands for its flag.
constexpr auto kPlainArguments = std::to_array<std::string_view>({"pipeline-model-parallel-size",
                                                                  "pipeline-model-parallel-layout",
                                                                  "num-layers-per-virtual-pipeline-stage",
                                                                  "num-virtual-stages-per-pipeline-rank",
                                                                  "decoder-first-pipeline-num-layers",
                                                                  "decoder-last-pipeline-num-layers",
                                                                  "account-for-embedding-in-pipeline-split",
                                                                  "account-for-loss-in-pipeline-split",
                                                                  "use-tp-pp-dp-mapping",
                                                                  "microbatch-group-size-per-virtual-pipeline-stage",
                                                                  "tensor-model-parallel-size",
                                                                  "context-parallel-size",
                                                                  "expert-model-parallel-size",
                                                                  "sequence-parallel",
                                                                  "moe-expert-capacity-factor",
                                                                  "moe-pad-expert-input-to-capacity",
                                                                  "bf16",
                                                                  "fp16",
                                                                  "fp8-format",
                                                                  "fp4-format",
                                                                  "optimizer",
                                                                  "accumulate-allreduce-grads-in-fp32",
                                                                  "grad-reduce-in-bf16",
                                                                  "use-distributed-optimizer",
                                                                  "use-megatron-fsdp",
                                                                  "use-torch-fsdp2",
                                                                  "use-precision-aware-optimizer",
                                                                  "optimizer-cpu-offload",
                                                                  "overlap-grad-reduce",
                                                                  "overlap-param-gather",
                                                                  "ddp-bucket-size",
                                                                  "recompute-granularity",
                                                                  "recompute-method",
                                                                  "recompute-num-layers",
                                                                  "micro-batch-size",
                                                                  "global-batch-size",
                                                                  "num-layers",
                                                                  "seq-length",
                                                                  "rampup-batch-size",
                                                                  "hybrid-layer-pattern",
                                                                  "hybrid-override-pattern",
                                                                  "overlap-moe-expert-parallel-comm",
                                                                  "standalone-embedding-stage",
                                                                  "hidden-size",
                                                                  "num-attention-heads",
                                                                  "group-query-attention",
                                                                  "ffn-hidden-size",
                                                                  "vocab-size",
                                                                  "padded-vocab-size",
                                                                  "make-vocab-size-divisible-by",
                                                                  "max-position-embeddings",
                                                                  "num-experts",
                                                                  "multi-latent-attention",
                                                                  "q-lora-rank",
                                                                  "mtp-num-layers",
                                                                  "num-distributed-optimizer-instances",
                                                                  "tp-comm-overlap",
                                                                  "delay-wgrad-compute",
                                                                  "defer-embedding-wgrad-compute",
                                                                  "distribute-saved-activations",
                                                                  "moe-shared-expert-overlap"});

/// Flags whose defaults say nothing without another one: (flag, the other).
constexpr auto kArgumentsOfOthers = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"cp-comm-type", "context-parallel-size"},
     {"data-parallel-sharding-strategy", "use-megatron-fsdp"},
     {"expert-tensor-parallel-size", "num-experts"},
     {"num-query-groups", "group-query-attention"},
     {"moe-router-topk", "num-experts"},
     {"moe-ffn-hidden-size", "num-experts"},
     {"moe-shared-expert-intermediate-size", "num-experts"},
     {"kv-lora-rank", "multi-latent-attention"},
     {"qk-head-dim", "multi-latent-attention"},
     {"qk-pos-emb-head-dim", "multi-latent-attention"},
     {"v-head-dim", "multi-latent-attention"}});

/// An argument as it is printed.
struct PrintedArgument {
  std::string name;  ///< of the flag
  std::string value;
  InputPlace place;
  InputPlace value_place;
};

bool is_dots(const TextWord& word) { return word.text.find_first_not_of('.') == std::string::npos; }

/// `['p2p']` as `p2p`.
std::string without_list(std::string text) {
  if (text.size() < 4 || !text.starts_with("['") || !text.ends_with("']")) return text;
  return text.substr(2, text.size() - 4);
}

bool is_nothing(const std::string& value) { return value == "None" || value == "False" || value == "[]"; }

class LogReader {
 public:
  LogReader(std::string_view text, const std::string& file) : lines_(text, file), file_(file) {}

  MegatronLog read() {
    bool is_in_list = false;
    while (lines_.next()) {
      if (ends_with_words({"end", "of", "arguments"})) {
        is_in_list = false;
        has_arguments_ = true;
      } else if (ends_with_words({"arguments"})) {
        is_in_list = !has_arguments_;
      } else if (is_in_list) {
        read_argument();
      } else {
        read_words();
        read_iterations();
      }
    }
    if (log_.lines.empty()) refuse("expected a line of an iteration with its time, found none", 0, "", kLogHint);
    if (has_arguments_) log_.arguments.emplace(flags(), ranks(), file_);
    return std::move(log_);
  }

 private:
  using Words = std::vector<TextWord>;

  [[nodiscard]] const Words& words() const { return lines_.words(); }

  [[noreturn]] void refuse(const std::string& message, int column, const std::string& key,
                           const std::string& hint = {}) const {
    throw InputError(message, lines_.place(column, key), hint);
  }

  /// `-------- arguments --------`, behind whatever a launcher puts before it.
  [[nodiscard]] bool ends_with_words(std::initializer_list<std::string_view> title) const {
    constexpr std::string_view kRule = "--------";
    const Words& all = words();
    if (all.size() < title.size() + 2 || !all.back().text.starts_with(kRule)) return false;
    const auto begin = all.end() - static_cast<std::ptrdiff_t>(title.size()) - 1;
    return (begin - 1)->text.ends_with(kRule) &&
           std::equal(title.begin(), title.end(), begin,
                      [](std::string_view a, const TextWord& b) { return a == b.text; });
  }

  /// `  name ......... value`; a long name has no dots behind it.
  void read_argument() {
    const Words& all = words();
    const auto dots = std::ranges::find_if(all, is_dots);
    const bool has_dots = dots != all.end() && dots != all.begin();
    const auto name = has_dots ? dots - 1 : all.begin();
    const auto value = has_dots ? dots + 1 : name + 1;
    PrintedArgument argument;
    for (auto word = value; word < all.end(); ++word) argument.value += (word == value ? "" : " ") + word->text;
    argument.name = name->text;
    std::ranges::replace(argument.name, '_', '-');
    if (const auto found = renamed_arguments().find(argument.name); found != renamed_arguments().end()) {
      argument.name = found->second;
    }
    argument.place = lines_.place(name->column, name->text);
    argument.value_place = lines_.place(value < all.end() ? value->column : name->column, name->text);
    arguments_.emplace(argument.name, std::move(argument));
  }

  [[nodiscard]] const PrintedArgument* given(std::string_view name) const {
    const auto found = arguments_.find(std::string(name));
    return found == arguments_.end() || is_nothing(found->second.value) ? nullptr : &found->second;
  }

  [[nodiscard]] std::vector<MegatronFlags::Flag> flags() const {
    std::vector<MegatronFlags::Flag> flags;
    const auto add = [&](std::string_view name) {
      const PrintedArgument* argument = given(name);
      if (argument == nullptr) return;
      std::vector<std::string> values;
      if (argument->value != "True") values.push_back(without_list(argument->value));
      flags.push_back({std::string(name), values, argument->place, argument->value_place});
    };
    for (const std::string_view name : kPlainArguments) add(name);
    for (const auto& [name, other] : kArgumentsOfOthers) {
      if (given(other) != nullptr) add(name);
    }
    if (given("multi-latent-attention") == nullptr) add("kv-channels");
    if (const PrintedArgument* layers = given("cpu-offloading-num-layers"); layers != nullptr && layers->value != "0") {
      add("cpu-offloading-num-layers");
    }
    return flags;
  }

  [[nodiscard]] std::optional<std::int64_t> ranks() const {
    const PrintedArgument* size = given("world-size");
    if (size == nullptr) return std::nullopt;
    const Parsed<std::int64_t> count = parse_count(size->value);
    if (count && *count.value >= 1) return count.value;
    throw InputError("expected a whole number from 1, found " + quote(size->value), size->value_place);
  }

  /// The position behind words that follow each other.
  [[nodiscard]] std::optional<std::size_t> behind(std::initializer_list<std::string_view> sought) const {
    const auto found =
        std::ranges::search(words(), sought, [](const TextWord& a, std::string_view b) { return a.text == b; });
    if (found.empty()) return std::nullopt;
    return static_cast<std::size_t>(found.end() - words().begin());
  }

  /// A whole number behind such words; none if they are not in the line.
  [[nodiscard]] std::optional<std::int64_t> count_behind(std::initializer_list<std::string_view> sought) const {
    const auto at = behind(sought);
    if (!at || *at >= words().size()) return std::nullopt;
    return parse_count(words()[*at].text).value;
  }

  /// Before the word at `end`.
  [[nodiscard]] std::int64_t iteration_number(std::size_t end) const {
    for (std::size_t i = 0; i + 1 < end; ++i) {
      if (words()[i].text != "iteration") continue;
      const std::string& text = words()[i + 1].text;
      const Parsed<std::int64_t> number = parse_count(std::string_view(text).substr(0, text.find('/')));
      if (number && *number.value >= 1 && *number.value <= kMostLogged && text.find('/') != std::string::npos) {
        return *number.value;
      }
      refuse("expected the number of an iteration and of all, found " + quote(text), words()[i + 1].column, "iteration",
             kLogHint);
    }
    refuse("the time of an iteration stands behind its number, found none", words()[end].column, "", kLogHint);
  }

  /// ` > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)`
  void read_words() {
    const auto at = behind({"dummy", "tokens", "(new", "size:"});
    if (!at || *at >= words().size() || !behind({">", "padded", "vocab", "(size:"})) return;
    const TextWord& word = words()[*at];
    const InputPlace place = lines_.place(word.column, "padded vocab");
    log_.words = {"padded-vocab-size", {word.text.substr(0, word.text.find(')'))}, place, place};
  }

  void read_iterations() {
    constexpr std::size_t kTitle = 5;  // words
    const auto at = behind({"elapsed", "time", "per", "iteration", "(ms):"});
    if (!at) return;
    LoggedIterations line;
    line.last = iteration_number(*at - kTitle);
    if (*at >= words().size())
      refuse("expected a time, found the end of the line", words().back().column, "", kLogHint);
    const TextWord& word = words()[*at];
    line.place = lines_.place(word.column);
    const Parsed<Seconds> time = parse_seconds(word.text.substr(0, word.text.find('/')) + " ms");
    if (!time || *time.value < kShortestLogged || *time.value > kLongestLogged) {
      refuse("expected a time of more than zero in milliseconds, such as '1234.5', found " + quote(word.text),
             word.column, "");
    }
    line.time = *time.value;
    line.batch = count_behind({"global", "batch", "size:"});
    line.skipped = count_behind({"number", "of", "skipped", "iterations:"}).value_or(0);
    if (!log_.lines.empty() && log_.lines.back().last >= line.last) {
      refuse("iteration " + std::to_string(line.last) + " follows iteration " + std::to_string(log_.lines.back().last),
             word.column, "", "give the log of each run as a file of its own");
    }
    log_.lines.push_back(std::move(line));
  }

  TextLines lines_;
  std::string file_;
  MegatronLog log_;
  std::map<std::string, PrintedArgument> arguments_;
  bool has_arguments_ = false;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  const auto count = static_cast<double>(values.size());
  double mean = values.front();
  for (const double value : values) mean += (value - values.front()) / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1.0)) / mean;
}

}  // namespace

MegatronLog parse_megatron_log(std::string_view text, const std::string& file_name) {
  return LogReader(text, file_name).read();
}

LoggedTimes measured_times(const MegatronLog& log, std::int64_t warmup) {
  const std::vector<LoggedIterations>& lines = log.lines;
  const std::int64_t interval = lines.size() > 1 ? lines[1].last - lines[0].last : 1;
  std::int64_t before = std::max<std::int64_t>(0, lines[0].last - interval);
  const std::int64_t end_of_warmup = before + warmup;
  std::vector<double> times;
  for (const LoggedIterations& line : lines) {
    if (before >= end_of_warmup && line.skipped == 0) times.push_back(line.time.value());
    before = line.last;
  }
  if (times.empty()) {
    throw InputError("no iteration is left behind the " + counted(warmup, "iteration") + " of the warm-up",
                     lines.back().place, "--warmup leaves out fewer");
  }
  return {Seconds(median_of(times)), static_cast<std::int64_t>(times.size()), deviation_of(times)};
}

}  // namespace stagecraft
