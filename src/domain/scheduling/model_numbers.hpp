// Numbers for the names of GPU models. The placement engine uses them for its sets of models
// (placement/engine/node_load.hpp).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace tessera {

// Used by one thread.
class ModelNumbers {
  public:
    // Always the same number for the same name. From the 64th model on, all models share the last
    // number.
    int of(std::string_view model);

  private:
    std::unordered_map<std::string, int> numbers_;
};

}  // namespace tessera
