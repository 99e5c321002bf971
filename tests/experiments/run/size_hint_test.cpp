#include "experiments/run/size_hint.hpp"

#include "sim/model/degrees.hpp"

#include <doctest/doctest.h>

namespace stagecraft {

TEST_CASE("size hint: numbers of microbatches are samples where the user has given samples") {
  const std::string hint = "cut it otherwise in 3; choose 8 or 16 with --microbatches";
  PlanningChoices choices;
  CHECK(in_given_terms(hint, choices, 4) == hint);
  choices.global_batch = 36;
  CHECK(in_given_terms(hint, choices, 4) ==
        "cut it otherwise in 3; choose 32 or 64 with --global-batch, since a microbatch has 4 samples");
  CHECK(in_given_terms("choose 5 with --microbatches (or not)", choices, 1) ==
        "choose 5 with --global-batch, since a microbatch has 1 sample (or not)");
  for (const char* other : {"", "plan for 3 devices", "--microbatches 8", "choose 3 with --stages"}) {
    CHECK(in_given_terms(other, choices, 4) == other);
  }
  choices.global_batch.reset();
  choices.samples_per_update = 36;
  choices.degrees.expert = 2;  // each of the two has samples of its own
  CHECK(in_given_terms("choose 4 with --microbatches", choices, 8) ==
        "choose 32 with --samples-per-update, since a microbatch on groups of 2 devices (expert 2) has 8 samples");
}

}  // namespace stagecraft
