#include "experiments/study/database.hpp"

#include "sim/base/error.hpp"
#include "sim/io/json.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw InputError("cannot be written: " + reason, {path, 0, 0, ""});
}

/// A file that is removed in the end unless it has been renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) { remove(); }
  ~TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  fs::path path_;
};

class Connection {
 public:
  /// `shown` is the file name for messages. The VFS `unix-none` takes no locks.
  Connection(const fs::path& file, std::string shown) : shown_(std::move(shown)) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix-none");
    handle_.reset(opened);
    check(code);
  }
  void execute(const std::string& sql) const {
    check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }
  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_DONE) return;
    refuse(shown_, handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code));
  }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::string shown_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A statement with parameters that is executed once for each row.
class Insertion {
 public:
  Insertion(const Connection& connection, const std::string& sql) : connection_(&connection) {
    sqlite3_stmt* prepared = nullptr;
    const int code = sqlite3_prepare_v2(connection.handle(), sql.c_str(), -1, &prepared, nullptr);
    statement_.reset(prepared);
    connection.check(code);
  }
  void insert(const std::vector<Detail>& row) {
    texts_.clear();
    texts_.reserve(row.size());  // bound texts must not move before the step, so the vector must not grow
    for (std::size_t i = 0; i < row.size(); ++i) connection_->check(bind(static_cast<int>(i) + 1, row[i]));
    connection_->check(sqlite3_step(statement_.get()));
    connection_->check(sqlite3_reset(statement_.get()));
  }

 private:
  int bind(int place, const Detail& value) {
    if (const auto* flag = std::get_if<bool>(&value.value)) {
      return sqlite3_bind_int64(statement_.get(), place, *flag ? 1 : 0);
    }
    if (const auto* whole = std::get_if<std::int64_t>(&value.value)) {
      return sqlite3_bind_int64(statement_.get(), place, *whole);
    }
    if (const auto* number = std::get_if<double>(&value.value)) {
      return sqlite3_bind_double(statement_.get(), place, *number);
    }
    if (std::holds_alternative<std::nullptr_t>(value.value)) return sqlite3_bind_null(statement_.get(), place);
    const auto* text = std::get_if<std::string>(&value.value);
    if (text == nullptr) text = &texts_.emplace_back(to_json(value, -1));
    return sqlite3_bind_text64(statement_.get(), place, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::vector<std::string> texts_;
};

/// A name in double quotes, with the quotes inside it doubled. A zero byte would end the statement, so it becomes `\0`.
std::string identifier(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '\0') {
      quoted += "\\0";
    } else {
      quoted += c;
      if (c == '"') quoted += c;
    }
  }
  return quoted + '"';
}

const char* declared(ColumnType type) {
  switch (type) {
    case ColumnType::Whole: return " INTEGER";
    case ColumnType::Real: return " REAL";
    case ColumnType::Text:
    case ColumnType::Json: return " TEXT";
    case ColumnType::Any: return "";  // values stay as they are
  }
  return "";
}

void write_table(const Connection& connection, const DatabaseTable& table) {
  std::string columns;
  std::string parameters;
  for (const ResultColumn& column : table.content.columns) {
    const bool is_key = column.name == table.primary_key;
    columns += (columns.empty() ? "" : ", ") + identifier(column.name) + declared(column.type) +
               (is_key ? " PRIMARY KEY NOT NULL" : "");
    parameters += parameters.empty() ? "?" : ", ?";
  }
  const std::string name = identifier(table.name);
  connection.execute("CREATE TABLE " + name + " (" + columns + ")");
  Insertion insertion(connection, "INSERT INTO " + name + " VALUES (" + parameters + ")");
  for (std::size_t i = 0; i < table.content.row_count; ++i) insertion.insert(table.content.row(i));
}

}  // namespace

void write_database(const std::string& path, const std::vector<DatabaseTable>& tables) {
  // SQLite would take a relative name that begins with `file:` for a URI; an absolute path is never one.
  const fs::path target = fs::absolute(path);
  const TemporaryFile beside(target.string() + "." + std::to_string(getpid()) + ".part");
  {
    const Connection connection(beside.path(), path);
    connection.execute("PRAGMA journal_mode = MEMORY");
    connection.execute("BEGIN");
    for (const DatabaseTable& table : tables) write_table(connection, table);
    connection.execute("COMMIT");
  }
  std::error_code problem;
  fs::rename(beside.path(), target, problem);
  if (problem) refuse(path, problem.message());
}

}  // namespace stagecraft
