// Who holds the processes of a container to its shares of cards.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "domain/request/gpu_request.hpp"
#include "domain/usage/share_use.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

struct HeldShare {
    GpuUuid card;
    Bytes memory;
    Percent cores;                 // of its time that the container is sure of; 0: of none
    Percent ceiling = kNoCeiling;  // and the most it gets

    friend bool operator==(const HeldShare&, const HeldShare&) = default;
};

struct HeldContainer {
    PodUid pod;
    PodName name;
    std::string container;
};

// Any thread.
class ShareHolder {
  public:
    virtual ~ShareHolder() = default;

    // What the container needs in it to be held, also when it starts again. An error says what to
    // do, for the pod's event.
    virtual Result<std::vector<FileMount>> hold(const HeldContainer& container,
                                                const std::vector<HeldShare>& shares) = 0;
    // Of all containers that are held now.
    [[nodiscard]] virtual std::vector<ShareUse> uses() const = 0;
    // The pods of which something is kept, and that nothing be kept of one.
    [[nodiscard]] virtual std::set<PodUid> pods() const = 0;
    virtual void forget(const PodUid& pod) = 0;

    // How many of a container's refusals, on all its cards, its pod's user needs no word of: 0
    // before he is told that its limit is reached, more than there can be from then on until the
    // limit grows. Kept with what holds it, for as long.
    [[nodiscard]] virtual std::int64_t refusals_told(const PodUid& pod,
                                                     const std::string& container) const = 0;
    virtual void note_told(const PodUid& pod, const std::string& container) = 0;
};

}  // namespace tessera
