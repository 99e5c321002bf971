#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft::refusals {

/// Whether expectations that no longer hold are rewritten before they are compared: STAGECRAFT_UPDATE is set and not
/// empty.
[[nodiscard]] bool is_updating();

/// The expectation for this message: the present one as long as it holds, else the message's beginning. One that ends
/// in a bracket gives the reason of a refusal too, and the message's bracket takes its place.
[[nodiscard]] std::string renewed(const std::string& expectation, const std::string& message);

/// Writes beside the file and renames, unless the file has this content already.
void rewrite(const std::filesystem::path& path, const std::string& content);

/// What a file of `bad/` expects: the first line behind `# expect: `, or that of the file beside a JSON file; empty if
/// there is none.
[[nodiscard]] std::string expectation_of(const std::filesystem::path& path);

/// Rewrites what a file of `bad/` expects, if it expects something that does not hold.
void renew_expectation(const std::filesystem::path& path, const std::string& message);

/// Rewrites the lines `# expect: ` at the top of a file, if it has some: one for each message.
void renew_expectations(const std::filesystem::path& path, const std::vector<std::string>& messages);

}  // namespace stagecraft::refusals
