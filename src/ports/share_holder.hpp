// Who holds the processes of a container to its shares of cards.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "domain/request/gpu_request.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

struct HeldShare {
    GpuUuid card;
    Bytes memory;
    Percent cores;                 // of its time that the container is sure of; 0: of none
    Percent ceiling = kNoCeiling;  // and the most it gets
};

// What a container makes of a share.
struct ShareUse {
    PodUid pod;
    std::string container;
    GpuUuid card;
    Bytes held;
    Bytes limit;
    std::int64_t refusals = 0;  // allocations that the limit refused
    // Of its processes together, by the clock; 0 where the card's time is not shared out.
    std::chrono::nanoseconds kernels{};  // they had kernels on their way or running
    std::chrono::nanoseconds copies{};
    std::chrono::nanoseconds waited{};  // for their turn
};

// Any thread.
class ShareHolder {
  public:
    virtual ~ShareHolder() = default;

    // What the container needs in it to be held, also when it starts again. An error says what to
    // do, for the pod's event.
    virtual Result<std::vector<FileMount>> hold(const PodUid& pod, const std::string& container,
                                                const std::vector<HeldShare>& shares) = 0;
    // Of all containers that are held now.
    [[nodiscard]] virtual std::vector<ShareUse> uses() const = 0;
    // The pods of which something is kept, and that nothing be kept of one.
    [[nodiscard]] virtual std::set<PodUid> pods() const = 0;
    virtual void forget(const PodUid& pod) = 0;
};

}  // namespace tessera
