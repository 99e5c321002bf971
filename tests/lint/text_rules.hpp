#pragma once

#include "tests/lint/source_tree.hpp"

#include <vector>

namespace stagecraft::lint {

/// No tab, no blank at the end of a line, no carriage return, a newline at the end of the file.
[[nodiscard]] std::vector<Violation> check_whitespace(const SourceFile& file);

/// A header starts with `#pragma once`.
[[nodiscard]] std::vector<Violation> check_pragma_once(const SourceFile& file);

/// A source file has at most 400 lines, unless an ADR in the list of exceptions says otherwise.
[[nodiscard]] std::vector<Violation> check_length(const SourceFile& file);

/// A line of a source file has at most 120 characters, counted as code points, in comments and literals too.
[[nodiscard]] std::vector<Violation> check_width(const SourceFile& file);

/// Words that the house does not use: view pipelines (clang-tidy and g++ 12 disagree on them), types called Manager or
/// the like, printing and exiting below `experiments`.
[[nodiscard]] std::vector<Violation> check_words(const SourceFile& file);

/// Every data file of `traces` and `platforms` says where its numbers come from, and these folders hold only data.
[[nodiscard]] std::vector<Violation> check_data(const SourceFile& file);

}  // namespace stagecraft::lint
