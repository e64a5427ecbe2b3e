// Records the containers that are found to run without their share. Not thread-safe.
#pragma once

#include <utility>
#include <vector>

#include "app/agent/enforcement/unshared_watch.hpp"

namespace tessera {

class FakeUnsharedContainers final : public UnsharedContainers {
  public:
    void found(UnsharedContainer container) override { list.push_back(std::move(container)); }
    // The containers that were found since the last call.
    std::vector<UnsharedContainer> take() { return std::exchange(list, {}); }

    std::vector<UnsharedContainer> list;
};

}  // namespace tessera
