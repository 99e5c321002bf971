#pragma once

#include "sim/model/platform.hpp"

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

// The words of a platform file, for its reader and its writer.

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

inline const Choices<Duplex>& duplex_choices() {
  static const Choices<Duplex> kChoices = {{"full", Duplex::Full}, {"half", Duplex::Half}};
  return kChoices;
}

inline const Choices<Sharing>& sharing_choices() {
  static const Choices<Sharing> kChoices = {{"fair", Sharing::Fair}, {"exclusive", Sharing::Exclusive}};
  return kChoices;
}

inline const Choices<Transport>& transport_choices() {
  static const Choices<Transport> kChoices = {{"direct", Transport::Direct}, {"host", Transport::Host}};
  return kChoices;
}

inline const Choices<CollectiveSpec::Algorithm>& algorithm_choices() {
  using Algorithm = CollectiveSpec::Algorithm;
  static const Choices<Algorithm> kChoices = {
      {"auto", Algorithm::Auto}, {"ring", Algorithm::Ring}, {"hierarchical", Algorithm::Hierarchical}};
  return kChoices;
}

}  // namespace stagecraft
