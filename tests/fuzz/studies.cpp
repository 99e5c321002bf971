// The target that reads studies and what a study's folder holds.
#include "experiments/run/overrides.hpp"
#include "experiments/study/cell_spec.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"
#include "experiments/study/study_file.hpp"
#include "sim/io/json.hpp"
#include "tests/fuzz/road.hpp"
#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace stagecraft::fuzz {
namespace {

constexpr std::uint64_t kManyCells = 200;

bool is_small(const Study& study) {
  std::uint64_t count = study.seeds.size();
  for (const Axis& axis : study.axes) count = std::min(count * axis.size(), kManyCells + 1);
  return count <= kManyCells;
}

/// A manifest of the study's cells, whose files need not be there, reads back as it was written.
void check_manifest(const Study& study, const Expansion& expansion) {
  Manifest manifest{.study = study.name,
                    .file = study.file,
                    .version = "0",
                    .simgrid_version = "0",
                    .command = {},
                    .limits = study.limits,
                    .baseline = study.baseline,
                    .columns = study.columns,
                    .tables = study.tables,
                    .files = {},
                    .cells = {}};
  for (const Cell& cell : expansion.cells) {
    manifest.cells.push_back({cell, "key"});
    static_cast<void>(read_cell(cell));
  }
  STAGECRAFT_CHECK(parse_manifest(to_text(manifest), "manifest.jsonl") == manifest, "a manifest reads back");
}

void take_study_file(const std::string& text) {
  takes([&] {
    const Study study = parse_study(text, "study.yaml");
    if (!is_small(study)) return;
    const Expansion expansion = expand(study);
    STAGECRAFT_CHECK(!expansion.cells.empty(), "a study has cells");
    check_manifest(study, expansion);
  });
}

void take_setting(const std::string& text) {
  takes([&] {
    Study study;
    apply_settings(study, {text});
  });
  takes([&] { static_cast<void>(parse_filter(text)); });
}

void take_override(const std::string& text) {
  takes([&] {
    Detail root(Detail::Record{{"a", Detail::List{1, Detail::Record{{"b.c", "d"}}}}, {"", 2}});
    set_value(root, text, true);
  });
}

/// A row that is taken reads back as it was written.
void take_row(const std::string& text) {
  const std::optional<Row> row = parse_row(text);
  if (row) STAGECRAFT_CHECK(parse_row(to_line(*row)) == row, "a row reads back");
}

void take_manifest(const std::string& text) {
  takes([&] {
    const Manifest manifest = parse_manifest(text, "manifest.jsonl");
    STAGECRAFT_CHECK(!difference(parse_manifest(to_text(manifest), "again"), manifest), "a manifest reads back");
  });
}

}  // namespace

void take_study(std::string_view input) {
  const std::string text(input);
  take_study_file(text);
  const std::string line = text.substr(0, text.find('\n'));
  take_setting(line);
  take_override(line);
  take_row(line);
  take_manifest(text);
}

}  // namespace stagecraft::fuzz
