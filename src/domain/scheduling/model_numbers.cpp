#include "domain/scheduling/model_numbers.hpp"

#include <algorithm>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

int ModelNumbers::of(std::string_view model) {
    const auto next = static_cast<int>(numbers_.size());
    return std::min(numbers_.try_emplace(std::string(model), next).first->second, kMaxModels - 1);
}

}  // namespace tessera
