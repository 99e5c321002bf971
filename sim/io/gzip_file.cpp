#include "sim/io/gzip_file.hpp"

#include "sim/base/error.hpp"
#include "sim/io/text_file.hpp"

#include <zlib.h>

#include <cerrno>
#include <utility>

namespace stagecraft {
namespace {

constexpr unsigned kInflateBuffer = 1U << 17U;

}  // namespace

void GzipFile::Close::operator()(gzFile_s* file) const { gzclose(file); }

GzipFile::GzipFile(std::string path) : path_(std::move(path)) {
  check_file_name(path_);
  errno = 0;
  file_.reset(gzopen(path_.c_str(), "rb"));
  if (!file_) refuse_open(path_, errno);
  gzbuffer(file_.get(), kInflateBuffer);
}

std::size_t GzipFile::read(char* data, std::size_t size) {
  const int count = gzread(file_.get(), data, static_cast<unsigned>(size));
  int code = Z_OK;
  gzerror(file_.get(), &code);
  if (count > 0) return static_cast<std::size_t>(count);
  if (code == Z_BUF_ERROR) {
    throw InputError("the compressed file is cut off", {path_, 0, 0, ""}, "copy it again; gzip -t FILE checks a copy");
  }
  if (code == Z_DATA_ERROR) {
    throw InputError("the compressed file is damaged", {path_, 0, 0, ""}, "copy it again; gzip -t FILE checks a copy");
  }
  if (count < 0) throw InputError("cannot be read to its end", {path_, 0, 0, ""});
  return 0;
}

}  // namespace stagecraft
