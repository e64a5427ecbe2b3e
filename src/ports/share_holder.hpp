// Who holds the processes of a container to its shares of cards.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

struct HeldShare {
    GpuUuid card;
    Bytes memory;
};

// Any thread.
class ShareHolder {
  public:
    virtual ~ShareHolder() = default;

    // What the container needs in it to be held. The same for one that starts again. An error says what to do, for the pod's event.
    virtual Result<std::vector<FileMount>> hold(const PodUid& pod, const std::string& container,
                                                const std::vector<HeldShare>& shares) = 0;
    // Forgets the containers of all other pods.
    virtual void keep_only(const std::set<PodUid>& pods) = 0;
};

}  // namespace tessera
