// Writing and reading the lines of a manifest.
#include "experiments/study/manifest.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <string_view>

namespace stagecraft {
namespace {

constexpr const char* kSchema = "stagecraft/manifest/1";

Detail::Record limits_record(const StudyLimits& limits) {
  return {{"time_s", limits.time.value()},
          {"memory_bytes", limits.memory ? Detail(limits.memory->value()) : Detail()},
          {"retries", limits.retries}};
}

Detail word_list(const std::vector<std::string>& words) {
  Detail::List list;
  for (const std::string& word : words) list.emplace_back(word);
  return list;
}

Detail::Record table_record(const TableChoice& table) {
  return {
      {"title", table.title}, {"rows", word_list(table.rows)}, {"columns", word_list(table.columns)},
      {"value", table.value}, {"mean", to_string(table.mean)}, {"over", table.over ? Detail(*table.over) : Detail()},
      {"where", table.where}};
}

Detail::Record head_record(const Manifest& manifest) {
  Detail::List tables;
  for (const TableChoice& table : manifest.tables) tables.emplace_back(table_record(table));
  Detail::List files;
  for (const StudyFile& file : manifest.files) {
    Detail::Record record{{"kind", file.kind}, {"name", file.name}, {"path", file.path}, {"sha256", file.sha256}};
    if (file.is_network && !file.path.empty()) record.emplace_back("network", true);
    files.emplace_back(std::move(record));
  }
  return {{"schema", kSchema},
          {"study", manifest.study},
          {"file", manifest.file},
          {"version", manifest.version},
          {"simgrid_version", manifest.simgrid_version},
          {"command", word_list(manifest.command)},
          {"limits", limits_record(manifest.limits)},
          {"baseline", manifest.baseline ? Detail(*manifest.baseline) : Detail()},
          {"columns", word_list(manifest.columns)},
          {"tables", std::move(tables)},
          {"files", std::move(files)},
          {"cells", static_cast<std::int64_t>(manifest.cells.size())}};
}

/// Reads the values of one line of a manifest, and refuses a line that this program cannot have written.
class LineReader {
 public:
  LineReader(Detail document, InputPlace place) : document_(std::move(document)), place_(std::move(place)) {}

  [[noreturn]] void fail() const {
    throw InputError("expected a line of a manifest as stagecraft run writes it", place_,
                     "start the study again with another --out");
  }
  template <class T>
  [[nodiscard]] const T& get(const Detail::Record& record, std::string_view name) const {
    const auto found = std::ranges::find(record, name, &Detail::Record::value_type::first);
    const T* value = found == record.end() ? nullptr : std::get_if<T>(&found->second.value);
    if (value == nullptr) fail();
    return *value;
  }
  [[nodiscard]] const Detail* find(const Detail::Record& record, std::string_view name) const {
    const auto found = std::ranges::find(record, name, &Detail::Record::value_type::first);
    return found == record.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Detail::Record& root() const { return as_record(document_); }
  [[nodiscard]] const Detail::Record& as_record(const Detail& value) const {
    const auto* record = std::get_if<Detail::Record>(&value.value);
    if (record == nullptr) fail();
    return *record;
  }
  [[nodiscard]] std::vector<std::string> words(const Detail::Record& record, std::string_view name) const {
    std::vector<std::string> words;
    for (const Detail& word : get<Detail::List>(record, name)) {
      const auto* text = std::get_if<std::string>(&word.value);
      if (text == nullptr) fail();
      words.push_back(*text);
    }
    return words;
  }
  [[nodiscard]] std::uint64_t count(const Detail::Record& record, std::string_view name) const {
    const auto value = get<std::int64_t>(record, name);
    if (value < 0) fail();
    return static_cast<std::uint64_t>(value);
  }

 private:
  Detail document_;
  InputPlace place_;
};

LineReader read_line(std::string_view text, const std::string& file_name, int number) {
  std::optional<Detail> document = from_json(text);
  LineReader line(document ? std::move(*document) : Detail(), {file_name, number, 0, ""});
  if (!document) line.fail();
  return line;
}

StudyLimits read_limits(const LineReader& line, const Detail::Record& record) {
  StudyLimits limits;
  limits.time = Seconds(line.get<double>(record, "time_s"));
  const Detail* memory = line.find(record, "memory_bytes");
  if (memory != nullptr && *memory != Detail()) limits.memory = Bytes(line.get<std::int64_t>(record, "memory_bytes"));
  limits.retries = line.get<std::int64_t>(record, "retries");
  return limits;
}

TableChoice read_table(const LineReader& line, const Detail::Record& record) {
  TableChoice table;
  table.title = line.get<std::string>(record, "title");
  table.rows = line.words(record, "rows");
  table.columns = line.words(record, "columns");
  table.value = line.get<std::string>(record, "value");
  const auto mean = find_mean(line.get<std::string>(record, "mean"));
  if (!mean) line.fail();
  table.mean = *mean;
  const Detail* over = line.find(record, "over");
  if (over != nullptr && *over != Detail()) table.over = line.as_record(*over);
  table.where = line.get<Detail::Record>(record, "where");
  return table;
}

/// A model without a path is a network known by name. Models that a file describes have the key `network`.
StudyFile read_file(const LineReader& line, const Detail::Record& record) {
  StudyFile file{line.get<std::string>(record, "kind"), line.get<std::string>(record, "name"),
                 line.get<std::string>(record, "path"), line.get<std::string>(record, "sha256")};
  const bool is_described = line.find(record, "network") != nullptr && line.get<bool>(record, "network");
  file.is_network = file.kind == "model" && (file.path.empty() || is_described);
  return file;
}

Manifest read_head(const LineReader& line) {
  const Detail::Record& head = line.root();
  if (line.get<std::string>(head, "schema") != kSchema) line.fail();
  Manifest manifest;
  manifest.study = line.get<std::string>(head, "study");
  manifest.file = line.get<std::string>(head, "file");
  manifest.version = line.get<std::string>(head, "version");
  manifest.simgrid_version = line.get<std::string>(head, "simgrid_version");
  manifest.command = line.words(head, "command");
  manifest.limits = read_limits(line, line.get<Detail::Record>(head, "limits"));
  const Detail* baseline = line.find(head, "baseline");
  if (baseline != nullptr && *baseline != Detail()) manifest.baseline = line.as_record(*baseline);
  if (line.find(head, "columns") != nullptr) manifest.columns = line.words(head, "columns");
  if (line.find(head, "tables") != nullptr) {
    for (const Detail& entry : line.get<Detail::List>(head, "tables")) {
      manifest.tables.push_back(read_table(line, line.as_record(entry)));
    }
  }
  for (const Detail& entry : line.get<Detail::List>(head, "files")) {
    manifest.files.push_back(read_file(line, line.as_record(entry)));
  }
  return manifest;
}

}  // namespace

std::string to_text(const Manifest& manifest) {
  std::string text = to_json(head_record(manifest), -1) + '\n';
  for (const StudyCell& cell : manifest.cells) {
    const Detail::Record record{
        {"key", cell.key}, {"seed", static_cast<std::int64_t>(cell.cell.seed)}, {"keys", cell.cell.keys}};
    text += to_json(record, -1) + '\n';
  }
  return text;
}

Manifest parse_manifest(const std::string& text, const std::string& file_name) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  const LineReader head = read_line(lines.empty() ? std::string_view() : lines.front(), file_name, 1);
  Manifest manifest = read_head(head);
  const std::uint64_t cells = head.count(head.root(), "cells");
  if (cells > lines.size() - 1) head.fail();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const LineReader line = read_line(lines[i], file_name, static_cast<int>(i) + 1);
    if (i > cells) line.fail();
    manifest.cells.push_back({{line.get<Detail::Record>(line.root(), "keys"), line.count(line.root(), "seed")},
                              line.get<std::string>(line.root(), "key")});
  }
  return manifest;
}

}  // namespace stagecraft
