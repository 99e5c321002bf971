#include "experiments/study/shard.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

constexpr int kMostShards = 10'000'000;

fs::path shard_folder(const std::string& folder) { return fs::path(folder) / "shards"; }

/// The parts of a row that must be equal whenever the same cell is run: all but the timings.
auto payload(const Row& row) { return std::tie(row.status, row.message, row.figures); }

/// Adds a row of a shard. A cell may have several rows, for example after a retry or if two machines ran it. A row that
/// depends on the machine (`timeout`, `crashed`) gives way to one that does not; two rows that do not must be equal.
void merge(Row row, const std::string& shard, std::map<std::string, Row>& rows) {
  const std::string key = row.key;
  const auto [known, is_new] = rows.try_emplace(key, std::move(row));
  if (is_new) return;
  Row& old = known->second;
  if (depends_on_machine(row.status)) return;
  if (depends_on_machine(old.status)) {
    old = std::move(row);
  } else if (payload(old) != payload(row)) {
    throw InternalError("the cell " + key + " gave two different results; the second is in " + quote(shard));
  }
}

void read_shard(const fs::path& path, ShardRows& into) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(std::string("cannot be read: ") + std::strerror(errno), {path.string(), 0, 0, ""});
  bool is_torn = false;
  for (std::string line; std::getline(stream, line);) {
    std::optional<Row> row = parse_row(line);
    if (row) merge(std::move(*row), path.string(), into.rows);
    is_torn = is_torn || !row;
  }
  if (stream.bad()) throw InputError("cannot be read to its end", {path.string(), 0, 0, ""});
  if (is_torn) into.torn_shards.push_back(path.string());
}

}  // namespace

/// O_EXCL makes sure that each writer has a file of its own, also between machines that share the folder: the first
/// number whose file can be created is taken.
ShardWriter::ShardWriter(const std::string& folder, const std::string& prefix) {
  std::error_code problem;
  fs::create_directories(shard_folder(folder), problem);
  for (int number = 1; number <= kMostShards; ++number) {
    path_ = (shard_folder(folder) / (prefix + "." + std::to_string(number) + ".jsonl")).string();
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ >= 0 || errno != EEXIST) break;
  }
  if (descriptor_ < 0) throw InputError(std::string("cannot be written: ") + std::strerror(errno), {path_, 0, 0, ""});
}

ShardWriter::~ShardWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void ShardWriter::append(std::string line) {
  line += '\n';
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t count = write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InputError(std::string("cannot be written: ") + std::strerror(errno), {path_, 0, 0, ""});
    written += static_cast<std::size_t>(count);
  }
}

ShardRows read_shards(const std::vector<std::string>& folders) {
  std::vector<fs::path> paths;
  for (const std::string& folder : folders) {
    std::error_code problem;  // ignored: if there is no folder, there are no rows yet
    for (const fs::directory_entry& entry : fs::directory_iterator(shard_folder(folder), problem)) {
      if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  ShardRows result;
  for (const fs::path& path : paths) read_shard(path, result);
  return result;
}

}  // namespace stagecraft
