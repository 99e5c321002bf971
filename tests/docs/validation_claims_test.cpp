// What predictions of published steps are held to. The predictions are those of docs/validation/, which a test of their
// own compares with what the program predicts now.
#include "tests/docs/validation_tables.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stagecraft::validation_claims_test {
namespace {

/// Errors without sign are at most these.
struct Bound {
  const char* table;
  double mean;
  double worst;
  double rank;  ///< at least
};

const std::vector<Bound>& bounds() {
  static const std::vector<Bound> all = {
      {"vtrain-node", 0.07, 0.40, 0.98}, {"vtrain-clusters", 0.07, 0.36, 0.95},
      {"bloom", 0.06, 0.14, 0.79},       {"sc21", 0.05, 0.10, 0.99},
      {"korthikanti", 0.04, 0.05, 0.99}, {"dgxc", 0.05, 0.09, 0.94},
      {"simumax", 0.04, 0.12, 0.98},     {"jean-zay-v100", 0.03, 0.06, 0.98},
      {"dlperf", 0.12, 0.25, 0.95},      {"libai", 0.12, 0.28, 0.95},
      {"nemo", 0.06, 0.20, 0.88},
  };
  return all;
}

}  // namespace

TEST_CASE("validation: predictions of published steps keep to their bounds") {
  for (const Bound& bound : bounds()) {
    for (const test::ShownSite& site : test::shown_sites(bound.table)) {
      CAPTURE(bound.table);
      CAPTURE(site.precision);
      const StepErrors errors = time_errors(site.validation);
      CHECK(errors.mean <= bound.mean);
      CHECK(errors.worst <= bound.worst);
      CHECK(errors.rank.value_or(0) >= bound.rank);
    }
  }
}

TEST_CASE("validation: peak memory of published steps keeps to its bounds") {
  const auto allocated = memory_errors(test::shown_sites("simumax").front().validation);
  CHECK(allocated.value().mean <= 0.025);
  for (const test::ShownSite& site : test::shown_sites("bloom")) {
    CHECK(memory_fit(site.validation).value().errors.mean <= 0.06);
  }
}

TEST_CASE("validation: the plain formula is twice as far off where rows differ in shape") {
  for (const char* table : {"vtrain-node", "bloom", "simumax", "jean-zay-v100"}) {
    const test::ShownSite site = test::shown_sites(table).front();
    CAPTURE(table);
    CHECK(2 * time_errors(site.validation).mean <= plain_errors(site.validation).mean);
  }
}

TEST_CASE("validation: of the tables to which nothing was fitted the plain formula is nearer on two") {
  const auto is_nearer = [](const char* table) {
    const Validation validation = test::shown_sites(table).front().validation;
    return plain_errors(validation).mean < time_errors(validation).mean;
  };
  CHECK_FALSE(is_nearer("nanotron"));
  CHECK(is_nearer("torchtitan"));
  CHECK(is_nearer("sc21-zero3"));
}

}  // namespace stagecraft::validation_claims_test
