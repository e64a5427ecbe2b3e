#include "domain/placement/place.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "domain/placement/gpu_room.hpp"

namespace tessera {
namespace {

// Positions in the request. Init containers and sidecars keep their order, because their common
// peak depends on it. App containers follow, sorted by their request per GPU.
std::vector<std::size_t> largest_first(const ContainerRequests& request) {
    std::vector<std::size_t> order(request.size());
    std::iota(order.begin(), order.end(), 0);
    const auto apps = std::ranges::stable_partition(
        order, [&](std::size_t i) { return request[i].kind != ContainerKind::app; });
    std::ranges::stable_sort(apps, std::ranges::greater(), [&](std::size_t i) {
        const GpuRequest& gpu = request[i].gpu;
        return std::tuple(bytes_of(gpu.memory, MemoryUnit::gib, kMoreThanAnyGpu), gpu.cores,
                          gpu.gpus);
    });
    return order;
}

// The GPU with the least free memory that is enough; `gpu` is -1 if there is none.
struct Tightest {
    int gpu = -1;
    std::int64_t price = 0;
};

// For a pod that requests one share of memory and nothing else. This is the usual pod, and the
// function runs for every node. It has no branch, because a branch would be mispredicted at every
// other GPU. The remainder of a GPU that is too small is negative; as an unsigned number it is
// larger than any other.
Tightest tightest(std::span<const Bytes> free, Bytes request) {
    constexpr auto kNone = std::numeric_limits<std::uint64_t>::max() / 2;
    std::uint64_t least = kNone;
    int gpu = -1;
    for (std::size_t i = 0; i < free.size(); ++i) {
        const auto left = static_cast<std::uint64_t>((free[i] - request).count);
        const bool better = left < least;
        least = better ? left : least;
        gpu = better ? static_cast<int>(i) : gpu;
    }
    return {gpu, static_cast<std::int64_t>(least)};
}

}  // namespace

const GpuRules& rules_of(const ContainerRequests& request) {
    static const GpuRules none;
    return request.empty() ? none : request.front().gpu.rules;
}

bool asks_one_share(const ContainerRequests& request) {
    return request.size() == 1 && request.front().gpu.gpus == 1;
}

bool asks_only_memory(const ContainerRequests& request) {
    if (!asks_one_share(request)) return false;
    const GpuRequest& gpu = request.front().gpu;
    return gpu.cores.value == 0 && is_same_on_every_gpu(gpu.memory) && gpu.rules.admits_any();
}

Placer::Placer(const ContainerRequests& request)
    : request_(request),
      one_share_(asks_one_share(request)),
      only_memory_(asks_only_memory(request)),
      gpu_constraints_(rules_of(request)),
      in_order_(request.size()) {
    std::iota(in_order_.begin(), in_order_.end(), 0);
    if (auto other = largest_first(request); other != in_order_) largest_first_ = std::move(other);
}

std::optional<std::int64_t> Placer::price(const PlacementRow& row, std::span<const Bytes> free) {
    if (!row.open) return std::nullopt;
    if (!only_memory_) {
        const Assignment* assignment = try_node(row.node->node_gpus());
        return assignment == nullptr ? std::nullopt : std::optional(assignment->price);
    }
    const Bytes request = bytes_of(request_.front().gpu.memory, row.unit, {});
    const Tightest best = tightest(free, request);
    return best.gpu < 0 ? std::nullopt : std::optional(best.price);
}

const Assignment* Placer::try_node(const NodeGpus& node_gpus) {
    if (node_gpus.single_share && !one_share_) return nullptr;
    if (only_memory_) {
        const Tightest best =
            tightest(node_gpus.free, bytes_of(request_.front().gpu.memory, node_gpus.unit, {}));
        if (best.gpu < 0) return nullptr;
        const auto any = [](std::size_t) { return true; };
        const std::size_t gpu = least_missed(node_gpus, static_cast<std::size_t>(best.gpu), any);
        assignment_.gpus.assign(1, static_cast<int>(gpu));
        assignment_.price = best.price;
        return &assignment_;
    }
    gpu_constraints_.look_at(node_gpus);
    if (place_in_some_order(node_gpus, Nearness::preferred)) return &assignment_;
    // The GPUs that one container prefers may be those that another needs.
    const bool has_choice =
        request_.size() > 1 && !node_gpus.topology_groups.empty() && !rules_of(request_).link;
    return has_choice && place_in_some_order(node_gpus, Nearness::as_asked) ? &assignment_
                                                                            : nullptr;
}

bool Placer::place_in_some_order(const NodeGpus& node_gpus, Nearness nearness) {
    if (place_all(in_order_, node_gpus, nearness)) return true;
    if (largest_first_.empty() || !place_all(largest_first_, node_gpus, nearness)) return false;
    sort_as_asked(largest_first_);
    return true;
}

// Places the containers in that order; their GPUs are in assignment_.gpus.
bool Placer::place_all(std::span<const std::size_t> order, const NodeGpus& node_gpus,
                       Nearness nearness) {
    assignment_.gpus.clear();
    assignment_.price = 0;
    own_.assign(node_gpus.states.size(), Own{});
    return std::ranges::all_of(order, [&](std::size_t position) {
        return place_container(request_[position], node_gpus, nearness);
    });
}

bool Placer::place_container(const ContainerRequest& container, const NodeGpus& node_gpus,
                             Nearness nearness) {
    const std::size_t first = assignment_.gpus.size();
    const std::int64_t price = assignment_.price;
    for (const GpuMask among : sets_.of(node_gpus, container.gpu, nearness)) {
        if (place_shares(container, node_gpus, among)) return true;
        for (std::size_t i = first; i < assignment_.gpus.size(); ++i)
            own_[static_cast<std::size_t>(assignment_.gpus[i])] = before_[i - first];
        assignment_.gpus.resize(first);
        assignment_.price = price;
    }
    return false;
}

// On failure, the shares that it has placed stay.
bool Placer::place_shares(const ContainerRequest& container, const NodeGpus& node_gpus,
                          GpuMask among) {
    const std::size_t first = assignment_.gpus.size();
    before_.clear();
    for (int i = 0; i < container.gpu.gpus; ++i) {
        if (!place_share(container, first, node_gpus, among)) return false;
    }
    return true;
}

void Placer::sort_as_asked(std::span<const std::size_t> order) {
    std::vector<std::size_t> begin(request_.size());  // by position in the request
    std::size_t next = 0;
    for (const std::size_t position : order) {
        begin[position] = next;
        next += static_cast<std::size_t>(request_[position].gpu.gpus);
    }
    std::vector<int> gpus;
    gpus.reserve(assignment_.gpus.size());
    for (std::size_t position = 0; position < request_.size(); ++position) {
        const auto from = assignment_.gpus.begin() + static_cast<std::ptrdiff_t>(begin[position]);
        gpus.insert(gpus.end(), from, from + request_[position].gpu.gpus);
    }
    assignment_.gpus = std::move(gpus);
}

Placer::Own Placer::with_share(const Own& own, const ContainerRequest& container, Bytes request) {
    Own after = own;
    after.peak = std::max(own.peak, own.running + request);
    after.cores_peak = std::max(own.cores_peak, own.cores_running + container.gpu.cores);
    if (container.kind != ContainerKind::init) {
        after.running += request;
        after.cores_running = after.cores_running + container.gpu.cores;
    }
    return after;
}

bool Placer::is_untouched(std::size_t gpu) const {
    return own_[gpu] == Own{};
}

// Adds one GPU for `container`; its GPUs so far are in assignment_.gpus from `first` on.
bool Placer::place_share(const ContainerRequest& container, std::size_t first,
                         const NodeGpus& node_gpus, GpuMask among) {
    const auto taken = assignment_.gpus.begin() + static_cast<std::ptrdiff_t>(first);
    int best = -1;
    std::int64_t best_price = 0;
    Own best_own;
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
        if (!is_among(among, i)) continue;
        const GpuState& gpu = node_gpus.states[i];
        const Bytes request = bytes_of(container.gpu.memory, node_gpus.unit, gpu.capacity);
        const Own after = with_share(own_[i], container, request);
        if (!has_room(gpu, container.gpu, after.peak, after.cores_peak)) continue;
        if (!gpu_constraints_.admits(i)) continue;
        if (std::find(taken, assignment_.gpus.end(), static_cast<int>(i)) != assignment_.gpus.end())
            continue;
        const std::int64_t price = (gpu.free() - after.peak).count;
        if (best >= 0 && price >= best_price) continue;
        best = static_cast<int>(i);
        best_price = price;
        best_own = after;
    }
    if (best < 0) return false;
    if (container.gpu.gpus == 1 && is_untouched(static_cast<std::size_t>(best))) {
        const auto may_take = [&](std::size_t i) {
            return is_untouched(i) && gpu_constraints_.admits(i);
        };
        best = static_cast<int>(least_missed(node_gpus, static_cast<std::size_t>(best), may_take));
    }
    assignment_.gpus.push_back(best);
    assignment_.price += best_price;
    before_.push_back(own_[static_cast<std::size_t>(best)]);
    own_[static_cast<std::size_t>(best)] = best_own;
    return true;
}

std::vector<ContainerAllocation> containers_of(const ContainerRequests& request,
                                               const Assignment& assignment,
                                               std::span<const Gpu> gpus, MemoryUnit unit) {
    std::vector<ContainerAllocation> containers;
    std::size_t next = 0;
    for (const ContainerRequest& container : request) {
        ContainerAllocation given{container.container, container.kind, {}};
        for (int i = 0; i < container.gpu.gpus; ++i) {
            const Gpu& gpu = gpus[static_cast<std::size_t>(assignment.gpus[next++])];
            given.gpus.push_back({
                .uuid = gpu.uuid,
                .index = gpu.index,
                .memory = bytes_of(container.gpu.memory, unit, gpu.capacity()),
                .cores = container.gpu.cores,
                .whole = container.gpu.memory.kind == MemoryRequest::Kind::whole_gpu,
                .cores_limit = container.gpu.cores_limit,
                .mps = container.gpu.rules.uses_mps(),
            });
        }
        containers.push_back(std::move(given));
    }
    return containers;
}

}  // namespace tessera
