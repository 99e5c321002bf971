#include "sim/io/import_nvidia_topo.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/text_words.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kMostTopoPlaces = 512;
constexpr std::int64_t kMostNvLinks = 1000;
constexpr const char* kTopoHint = "the file is what 'nvidia-smi topo -m' prints";

/// Without the sequences ESC [ … m, by which the program underlines its first line.
std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "\x1b[") {
      const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
      if (end != std::string_view::npos && text[end] == 'm') {
        at = end;
        continue;
      }
    }
    result += text[at];
  }
  return result;
}

bool is_gpu_name(std::string_view name) {
  return name.starts_with("GPU") && name.size() > 3 &&
         name.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

std::optional<TopoPath> topo_path(std::string_view text) {
  constexpr auto kPaths = std::to_array<std::pair<std::string_view, TopoPath>>({{"X", TopoPath::Self},
                                                                                {"PIX", TopoPath::Pix},
                                                                                {"PXB", TopoPath::Pxb},
                                                                                {"PHB", TopoPath::Phb},
                                                                                {"NODE", TopoPath::Node},
                                                                                {"SYS", TopoPath::Sys},
                                                                                {"SOC", TopoPath::Sys}});
  const auto* found = std::ranges::find(kPaths, text, &std::pair<std::string_view, TopoPath>::first);
  if (found == kPaths.end()) return std::nullopt;
  return found->second;
}

class TopoReader {
 public:
  TopoReader(std::string_view text, const std::string& file) : lines_(text, file) {}

  TopoMatrix read() {
    read_names();
    std::vector<std::vector<TopoCell>> rows;
    while (rows.size() < names_.size()) rows.push_back(read_row(rows.size()));
    check_end();
    check_mirror(rows);
    return matrix_of(rows);
  }

 private:
  [[nodiscard]] const std::vector<TextWord>& words() const { return lines_.words(); }

  [[noreturn]] void refuse(const std::string& message, int column, const std::string& key = "") const {
    throw InputError(message, lines_.place(column, key), kTopoHint);
  }

  void read_names() {
    do {
      if (!lines_.next()) refuse("expected a line with the names of the GPUs, found none", 0);
    } while (!is_gpu_name(words().front().text));
    for (const TextWord& word : words()) {
      if (word.text == "CPU" || word.text == "NUMA") break;
      if (std::ranges::find(names_, word.text) != names_.end()) {
        refuse("expected each name once, found " + quote(word.text) + " again", word.column);
      }
      if (names_.size() == kMostTopoPlaces) {
        refuse("expected at most " + std::to_string(kMostTopoPlaces) + " GPUs and NICs, found more", word.column);
      }
      names_.push_back(word.text);
    }
  }

  TopoCell read_cell(std::size_t row, std::size_t column) const {
    const TextWord& word = words()[column + 1];
    const std::string key = names_[row] + "." + names_[column];
    TopoCell cell{TopoPath::Self, 0, word.text, lines_.place(word.column, key)};
    if (word.text.starts_with("NV")) {
      const auto count = parse_count(word.text.substr(2));
      const bool is_pair = is_gpu_name(names_[row]) && is_gpu_name(names_[column]) && row != column;
      if (!is_pair || !count || *count.value < 1 || *count.value > kMostNvLinks) {
        refuse("expected " + std::string(is_pair ? "the number of NVLinks after NV" : "a path without NVLinks") +
                   ", found " + quote(word.text),
               word.column, key);
      }
      cell.path = TopoPath::NvLink;
      cell.nvlinks = *count.value;
      return cell;
    }
    const auto path = topo_path(word.text);
    if (!path) refuse("expected NV#, PIX, PXB, PHB, NODE or SYS, found " + quote(word.text), word.column, key);
    cell.path = *path;
    if ((row == column) != (*path == TopoPath::Self)) {
      refuse(std::string(row == column ? "expected X" : "expected a path") + ", found " + quote(word.text), word.column,
             key);
    }
    return cell;
  }

  std::vector<TopoCell> read_row(std::size_t row) {
    if (!lines_.next()) refuse("expected the row of " + names_[row] + ", found the end", 0);
    const TextWord& name = words().front();
    if (name.text != names_[row]) {
      refuse("expected the row of " + names_[row] + ", found " + quote(name.text), name.column);
    }
    if (words().size() <= names_.size()) {
      refuse("expected " + counted(names_.size(), "entry") + ", found " + std::to_string(words().size() - 1),
             name.column, names_[row]);
    }
    std::vector<TopoCell> cells;
    for (std::size_t column = 0; column < names_.size(); ++column) cells.push_back(read_cell(row, column));
    const std::size_t cpus = names_.size() + 1;
    cpus_.push_back(words().size() > cpus ? words()[cpus].text : "");
    return cells;
  }

  /// Refuses a row that the first line does not name.
  void check_end() {
    if (!lines_.next() || !is_gpu_name(words().front().text)) return;
    refuse("expected no row of " + quote(words().front().text) + ", which the first line does not name",
           words().front().column);
  }

  static void check_mirror(const std::vector<std::vector<TopoCell>>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const TopoCell& cell = rows[i][j];
        const TopoCell& other = rows[j][i];
        if (cell.path == other.path && cell.nvlinks == other.nvlinks) continue;
        throw InputError(
            "expected " + other.text + " as in row " + std::to_string(other.place.line) + ", found " + quote(cell.text),
            cell.place, "a path is the same in both directions");
      }
    }
  }

  [[nodiscard]] TopoMatrix matrix_of(const std::vector<std::vector<TopoCell>>& rows) const {
    TopoMatrix matrix;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!is_gpu_name(names_[i])) {
        matrix.nics.push_back(names_[i]);
        continue;
      }
      matrix.gpus.push_back(names_[i]);
      matrix.cpus.push_back(cpus_[i]);
      auto& gpus = matrix.gpu_gpu.emplace_back();
      auto& nics = matrix.gpu_nic.emplace_back();
      for (std::size_t j = 0; j < names_.size(); ++j) (is_gpu_name(names_[j]) ? gpus : nics).push_back(rows[i][j]);
    }
    return matrix;
  }

  TextLines lines_;
  std::vector<std::string> names_;
  std::vector<std::string> cpus_;  ///< by name
};

}  // namespace

TopoMatrix parse_nvidia_topo(std::string_view text, const std::string& file_name) {
  const std::string plain = without_escapes(text);
  check_text(plain, file_name);
  return TopoReader(plain, file_name).read();
}

}  // namespace stagecraft
