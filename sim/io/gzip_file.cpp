#include "sim/io/gzip_file.hpp"

#include "sim/base/error.hpp"
#include "sim/io/text_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kFilePart = std::size_t{1} << 17;
constexpr int kGzipWindow = 15 + 16;  ///< the largest window, in gzip's format alone
constexpr const char* kCopyAgain = "copy it again; gzip -t FILE checks a copy";

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-owning-memory): what the file's own pointers close
void GzipFile::Close::operator()(std::FILE* file) const { std::fclose(file); }

void GzipFile::Close::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}
// NOLINTEND(cppcoreguidelines-owning-memory)

GzipFile::GzipFile(std::string path) : path_(std::move(path)), buffer_(kFilePart) {
  check_file_name(path_);
  errno = 0;
  file_.reset(std::fopen(path_.c_str(), "rb"));  // NOLINT(cppcoreguidelines-owning-memory): it is the owner
  if (!file_) refuse_open(path_, errno);
  fill();
  if (!starts_member()) return;
  auto stream = std::make_unique<z_stream>();
  if (inflateInit2(stream.get(), kGzipWindow) != Z_OK) throw std::bad_alloc();
  stream_.reset(stream.release());
}

/// Reads the next part of the file, when the one before is used up.
void GzipFile::fill() {
  at_ = 0;
  end_ = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  if (std::ferror(file_.get()) != 0) refuse("cannot be read to its end");
}

/// A member of gzip has the magic number 1f 8b. The second byte is that of a cut-off file, or checked by zlib.
bool GzipFile::starts_member() {
  constexpr unsigned char kFirst = 0x1f;
  constexpr unsigned char kSecond = 0x8b;
  return at_ < end_ && buffer_[at_] == kFirst && (at_ + 1 == end_ || buffer_[at_ + 1] == kSecond);
}

void GzipFile::refuse(const std::string& message, const std::string& hint) const {
  throw InputError(message, {path_, 0, 0, ""}, hint);
}

std::size_t GzipFile::copy(char* data, std::size_t size) {
  if (at_ == end_) fill();
  const std::size_t count = std::min(size, end_ - at_);
  std::copy_n(buffer_.data() + at_, count, data);
  at_ += count;
  return count;
}

std::size_t GzipFile::inflate_to(char* data, std::size_t size) {
  stream_->next_in = buffer_.data() + at_;
  stream_->avail_in = static_cast<unsigned>(end_ - at_);
  stream_->next_out = reinterpret_cast<unsigned char*>(data);
  stream_->avail_out = static_cast<unsigned>(size);
  const int code = inflate(stream_.get(), Z_NO_FLUSH);
  at_ = end_ - stream_->avail_in;
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) refuse("the compressed file is damaged", kCopyAgain);
  if (code == Z_STREAM_END) {
    in_member_ = false;
    inflateReset(stream_.get());
  }
  return size - stream_->avail_out;
}

std::size_t GzipFile::read(char* data, std::size_t size) {
  if (!stream_) return copy(data, size);
  std::size_t count = 0;
  while (count == 0) {
    if (at_ == end_) fill();
    const bool is_over = at_ == end_;
    if (is_over && !in_member_) return 0;
    if (!in_member_ && !starts_member()) {
      refuse("the compressed file is followed by bytes that are not compressed", kCopyAgain);
    }
    in_member_ = true;
    count = inflate_to(data, size);
    if (is_over && count == 0 && in_member_) refuse("the compressed file is cut off", kCopyAgain);
  }
  return count;
}

}  // namespace stagecraft
