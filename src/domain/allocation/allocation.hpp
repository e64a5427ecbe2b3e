// An allocation: which cards each container of a pod was given, and how much of each. It is decided
// by the controller, travels as the pod's annotation (wire/allocation_json.hpp), and is what
// everybody counts. The cards stay for the pod's life; how much of them may change (resize.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

// A share of one card.
struct GpuShare {
    GpuUuid uuid;
    int index = 0;  // the card's index when it was given; uuid is the identity
    Bytes memory;
    Percent cores;
    bool whole = false;            // the whole card, whatever its size
    Percent ceiling = kNoCeiling;  // the most of its compute that the container gets

    friend bool operator==(const GpuShare&, const GpuShare&) = default;
};

struct ContainerAllocation {
    std::string container;
    ContainerKind kind = ContainerKind::app;
    std::vector<GpuShare> gpus;

    friend bool operator==(const ContainerAllocation&, const ContainerAllocation&) = default;
};

struct Allocation {
    PodUid pod;
    NodeName node;
    DialectId dialect = DialectId::native;
    std::vector<ContainerAllocation> containers;  // in the order of the PodRequest
    std::int64_t revision = 0;                    // one more with each resize (resize.hpp)

    friend bool operator==(const Allocation&, const Allocation&) = default;
};

// Null where the allocation has no such container.
const ContainerAllocation* find_container(const Allocation& allocation, std::string_view name);
// Whether it has a part of a card, which somebody has to hold it to: whole cards need nobody.
bool has_share(const ContainerAllocation& container);

// What a pod holds of one card at its peak.
struct Hold {
    GpuUuid uuid;
    Bytes memory;
    Percent cores;

    friend bool operator==(const Hold&, const Hold&) = default;
};

// The peak over the pod's life, per card: an init container holds its share together with the
// sidecars started before it, and gives it back before the app containers start (the rule of
// Kubernetes for ordinary resources). Ascending by uuid.
std::vector<Hold> holds(const std::vector<ContainerAllocation>& containers);

// What covers both, card by card. Ascending by uuid, as both are.
std::vector<Hold> larger(const std::vector<Hold>& a, const std::vector<Hold>& b);

}  // namespace tessera
