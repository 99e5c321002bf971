#include "sim/io/import_nccl_tests.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/text_words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostNcclDevices = 100'000;  ///< of a host
constexpr Seconds kLongestNcclTime(1e4);
constexpr const char* kNcclHint = "the file is what a program of nccl-tests prints, such as all_reduce_perf";

/// A rank as it is printed.
struct PrintedRank {
  std::string host;
  std::uint32_t device = 0;
};

/// Where a row has its values.
struct NcclColumns {
  std::size_t count = 0;
  std::size_t size = 0;
  std::optional<std::size_t> reduction;
  std::vector<std::size_t> times;
  std::vector<std::size_t> algorithm;  ///< bandwidths, as many as times
  std::vector<std::size_t> bus;
};

std::optional<Exchange::Kind> kind_named(std::string_view name) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, Exchange::Kind>>(
      {{"all_reduce_perf", Exchange::Kind::AllReduce},
       {"all_gather_perf", Exchange::Kind::AllGather},
       {"reduce_scatter_perf", Exchange::Kind::ReduceScatter}});
  const auto* found = std::ranges::find(kNames, name, &std::pair<std::string_view, Exchange::Kind>::first);
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

/// The ranks with their hosts numbered, and a device of its own for each.
std::vector<NcclRank> numbered(const std::vector<PrintedRank>& printed) {
  std::map<std::string, std::uint32_t> hosts;
  std::vector<NcclRank> ranks;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const PrintedRank& rank : printed) {
    const auto host = hosts.emplace(rank.host, static_cast<std::uint32_t>(hosts.size())).first->second;
    ranks.push_back({host, rank.device});
    seen.emplace(host, rank.device);
  }
  if (seen.size() == ranks.size()) return ranks;
  std::vector<std::uint32_t> next(hosts.size());
  for (NcclRank& rank : ranks) rank.device = next[rank.host]++;
  return ranks;
}

class NcclReader {
 public:
  NcclReader(std::string_view text, const std::string& file) : lines_(text, file) {}

  std::vector<NcclTable> read() {
    while (lines_.next()) {
      if (words().empty()) continue;
      if (words().front().text.starts_with('#')) {
        read_comment();
      } else if (columns_ && is_row()) {
        read_row();
      }
    }
    end_table();
    if (tables_.empty()) refuse("expected a table with the columns size, time and busbw, found none", 0);
    return std::move(tables_);
  }

 private:
  [[nodiscard]] const std::vector<TextWord>& words() const { return lines_.words(); }

  [[noreturn]] void refuse(const std::string& message, int column, const std::string& hint = kNcclHint) const {
    throw InputError(message, lines_.place(column), hint);
  }

  /// Lines of other programs may stand between the rows; a row begins with its size.
  [[nodiscard]] bool is_row() const {
    return words().front().text.find_first_not_of("0123456789") == std::string::npos;
  }

  [[nodiscard]] std::optional<std::size_t> find_word(std::string_view text) const {
    const auto found = std::ranges::find(words(), text, &TextWord::text);
    if (found == words().end()) return std::nullopt;
    return static_cast<std::size_t>(found - words().begin());
  }

  void read_comment() {
    if (find_word("Rank") == std::optional<std::size_t>(1)) {
      read_rank();
    } else if (const auto starting = find_word("starting:"); starting && *starting + 1 < words().size()) {
      end_table();
      name_ = words()[*starting + 1].text;
      name_place_ = lines_.place(words()[*starting + 1].column);
    } else if (find_word("size") && find_word("time")) {
      read_columns();
    } else if (columns_ && table_.times.empty() && find_word("(B)")) {
      check_units();
    }
  }

  void read_rank() {
    if (columns_) end_table();
    const auto host = find_word("on");
    const auto device = find_word("device");
    const bool is_whole = host && device && *host + 1 < words().size() && *device + 1 < words().size();
    const auto number = is_whole ? parse_count(words()[*device + 1].text) : Parsed<std::int64_t>{};
    if (!number || *number.value >= kMostNcclDevices) {
      refuse("expected a rank 'on' a host with its 'device'", 1);
    }
    ranks_.push_back({words()[*host + 1].text, static_cast<std::uint32_t>(*number.value)});
  }

  void read_columns() {
    if (columns_) refuse("expected the ranks of the next table, found its columns", 1);
    if (ranks_.size() < 2) {
      refuse("expected at least two ranks before the table, found " + std::to_string(ranks_.size()), 1,
             "nccl-tests prints them as '#  Rank  0 Group  0 Pid  1 on HOST device  0 …'");
    }
    NcclColumns columns;
    columns.count = words().size() - 1;
    for (std::size_t word = 1; word < words().size(); ++word) {
      const std::string& text = words()[word].text;
      if (text == "size") columns.size = word - 1;
      if (text == "redop") columns.reduction = word - 1;
      if (text == "time") columns.times.push_back(word - 1);
      if (text == "algbw") columns.algorithm.push_back(word - 1);
      if (text == "busbw") columns.bus.push_back(word - 1);
    }
    if (columns.algorithm.size() != columns.times.size() || columns.bus.size() != columns.times.size()) {
      refuse("expected the columns algbw and busbw for each time", 1);
    }
    columns_ = columns;
    table_.place = lines_.place(1);
  }

  void check_units() const {
    for (const TextWord& word : words()) {
      const bool is_time = word.text == "(s)" || word.text == "(ms)" || word.text == "(ns)";
      if (is_time) refuse("expected times in (us), found " + quote(word.text), word.column);
    }
  }

  [[nodiscard]] double number_at(std::size_t column) const {
    const TextWord& word = words()[column];
    const auto number = parse_number(word.text);
    if (!number) refuse(number.problem, word.column);
    return *number.value;
  }

  void read_row() {
    if (words().size() != columns_->count) {
      refuse("expected " + counted(columns_->count, "value") + ", as there are columns, found " +
                 std::to_string(words().size()),
             1);
    }
    const TextWord& size = words()[columns_->size];
    const auto bytes = parse_count(size.text);
    if (!bytes || *bytes.value > (std::int64_t{1} << 50)) {
      refuse("expected a size of at most 2^50 bytes, found " + quote(size.text), size.column);
    }
    if (*bytes.value == 0) return;
    for (std::size_t i = 0; i < columns_->times.size(); ++i) {
      const TextWord& word = words()[columns_->times[i]];
      if (word.text == "N/A") continue;
      const Seconds time(number_at(columns_->times[i]) * 1e-6);
      if (!(time > Seconds(0)) || time > kLongestNcclTime) {
        refuse("expected a time of more than zero, found " + quote(word.text), word.column);
      }
      table_.times.push_back({Bytes(*bytes.value), time, lines_.place(word.column)});
      judge_kind(i);
    }
  }

  /// Keeps the reduction of the row and the largest ratio of its bandwidths, which rounding changes the least.
  void judge_kind(std::size_t which) {
    if (name_) return;
    const double algorithm = number_at(columns_->algorithm[which]);
    if (columns_->reduction) has_reduction_ = words()[*columns_->reduction].text != "none";
    if (algorithm <= largest_) return;
    largest_ = algorithm;
    ratio_ = number_at(columns_->bus[which]) / algorithm;
  }

  [[nodiscard]] Exchange::Kind kind() const {
    if (name_) {
      if (const auto kind = kind_named(*name_)) return *kind;
      throw InputError("expected all_reduce_perf, all_gather_perf or reduce_scatter_perf, found " + quote(*name_),
                       name_place_, "a platform has no constants of other exchanges");
    }
    constexpr double kRounding = 0.02;
    const auto n = static_cast<double>(ranks_.size());
    const double part = (n - 1.0) / n;
    const auto is_ratio = [&](double ratio) { return std::abs(ratio_ / ratio - 1.0) < kRounding; };
    if (has_reduction_ && is_ratio(2.0 * part)) return Exchange::Kind::AllReduce;
    if (has_reduction_ && is_ratio(part)) return Exchange::Kind::ReduceScatter;
    throw InputError("expected the columns of an all-reduce or a reduce-scatter, or a line that names another exchange",
                     table_.place, "put '# Collective test starting: all_gather_perf' before the table");
  }

  void end_table() {
    if (columns_) {
      if (table_.times.empty()) throw InputError("expected a row with a time, found none", table_.place, kNcclHint);
      table_.kind = kind();
      table_.ranks = numbered(ranks_);
      tables_.push_back(std::move(table_));
    }
    table_ = {};
    columns_.reset();
    ranks_.clear();
    largest_ = 0;
    ratio_ = 0;
    name_.reset();
    has_reduction_ = false;
  }

  TextLines lines_;
  std::vector<NcclTable> tables_;
  NcclTable table_;
  std::optional<NcclColumns> columns_;
  std::vector<PrintedRank> ranks_;
  std::optional<std::string> name_;  ///< of the program
  InputPlace name_place_;
  bool has_reduction_ = false;
  double largest_ = 0;
  double ratio_ = 0;
};

}  // namespace

std::vector<NcclTable> parse_nccl_tests(std::string_view text, const std::string& file_name) {
  return NcclReader(text, file_name).read();
}

}  // namespace stagecraft
