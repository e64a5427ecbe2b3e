// Containers that run without their share, as they were found. Of one thread.
#pragma once

#include <utility>
#include <vector>

#include "app/agent/unshared_watch.hpp"

namespace tessera {

class FakeUnsharedContainers final : public UnsharedContainers {
  public:
    void found(UnsharedContainer container) override { list.push_back(std::move(container)); }
    // Those since the last call.
    std::vector<UnsharedContainer> take() { return std::exchange(list, {}); }

    std::vector<UnsharedContainer> list;
};

}  // namespace tessera
