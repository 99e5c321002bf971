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

inline Choices<InterconnectType> interconnect_choices() {
  Choices<InterconnectType> choices;
  for (InterconnectType type : {InterconnectType::Switch, InterconnectType::Full, InterconnectType::Ring,
                                InterconnectType::CubeMesh, InterconnectType::Pcie}) {
    choices.emplace_back(to_string(type), type);
  }
  return choices;
}

inline Choices<NetworkType> network_choices() {
  Choices<NetworkType> choices;
  for (NetworkType type : {NetworkType::Switch, NetworkType::Full, NetworkType::Ring, NetworkType::Torus,
                           NetworkType::FatTree, NetworkType::Dragonfly}) {
    choices.emplace_back(to_string(type), type);
  }
  return choices;
}

}  // namespace stagecraft
