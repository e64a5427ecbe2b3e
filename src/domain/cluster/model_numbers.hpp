// Numbers for the names of card models, for the sets of models that the placement engine works with
// (placement/fleet/node_load.hpp).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace tessera {

// One thread.
class ModelNumbers {
  public:
    // The same for the same name for as long as this lives. From the 64th model on, all share the
    // last number.
    int of(std::string_view model);

  private:
    std::unordered_map<std::string, int> numbers_;
};

}  // namespace tessera
