#include "domain/defrag/defrag_state.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "domain/placement/engine_terms.hpp"
#include "domain/placement/given_gpus.hpp"

namespace tessera::defrag {
namespace {

Bytes on_gpus(const AssignedPod& assigned_pod, std::span<const Gpu> gpus) {
    Bytes sum;
    for (const GpuAllocation& on_gpu : assigned_pod.allocated) {
        const Gpu* gpu = find_gpu(gpus, on_gpu.uuid);
        if (gpu != nullptr) sum += std::min(on_gpu.memory, gpu->capacity());
    }
    return sum;
}

std::vector<std::size_t> positions(const AssignedPod& assigned_pod, std::span<const Gpu> gpus) {
    std::vector<std::size_t> out;
    for (const GpuAllocation& on_gpu : assigned_pod.allocated) {
        const Gpu* gpu = find_gpu(gpus, on_gpu.uuid);
        if (gpu != nullptr) out.push_back(static_cast<std::size_t>(gpu - gpus.data()));
    }
    std::ranges::sort(out);
    return out;
}

// What a pod has of a GPU, as count_allocated counts it.
std::pair<Bytes, Percent> allocated_on(const AssignedPod& assigned_pod, std::span<const Gpu> gpus,
                                       std::size_t gpu) {
    Bytes memory;
    Percent cores;
    for (const GpuAllocation& on_gpu : assigned_pod.allocated) {
        if (find_gpu(gpus, on_gpu.uuid) != &gpus[gpu]) continue;
        memory += std::min(on_gpu.memory, gpus[gpu].capacity());
        cores = cores + std::min(on_gpu.cores, Percent{100});
    }
    return {memory, cores};
}

// The number of the largest amounts that add up to `missing`; nothing if all together are less.
template <class Amount>
std::optional<std::int64_t> how_many(std::vector<Amount> amounts, Amount missing) {
    std::ranges::sort(amounts, std::greater{});
    std::int64_t taken = 0;
    for (const Amount amount : amounts) {
        if (missing <= 0) break;
        missing -= amount;
        ++taken;
    }
    return missing <= 0 ? std::optional(taken) : std::nullopt;
}

// The replacement of a pod, as a pod to place: its uid is not known.
PodToPlace successor_of(const MovablePod& pod) {
    static const PodUid unknown;
    return {unknown, pod.request.priority};
}

// A pod that requests none of a resource fits even if less than nothing is left of it.
bool has_host_room(const NodeInventory& node, const HostRequest& left, const HostRequest& request) {
    if (node.host == HostRequest{}) return true;  // the node does not report it
    const Bytes whole_mib{(request.memory.count + kMiB - 1) / kMiB * kMiB};
    return (request.cpu_milli == 0 || request.cpu_milli <= left.cpu_milli) &&
           (whole_mib == Bytes{} || whole_mib <= left.memory);
}

}  // namespace

bool Place::touches(const PlacedPod& placed) const {
    if (node != placed.node) return false;
    return std::ranges::any_of(assignment.gpus, [&](int gpu) {
        return std::ranges::find(placed.gpus, static_cast<std::size_t>(gpu)) != placed.gpus.end();
    });
}

bool Place::is_same(const Place& other) const {
    return node == other.node && assignment.gpus == other.assignment.gpus;
}

DefragState::DefragState(const Cluster& cluster, const PodToPlace& pod, std::size_t most_kinds)
    : pod_(pod),
      most_kinds_(most_kinds),
      has_nominees_(std::ranges::any_of(cluster.nodes,
                                        [](const auto& node) { return !node->nominees.empty(); })) {
    nodes_.reserve(cluster.nodes.size());
    for (const Snapshot::NodePtr& node : cluster.nodes) {
        NodeState state{.original = node.get(),
                        .now = *node,
                        .used = {node->inventory.host.cpu_milli - node->load.cpu_milli,
                                 node->inventory.host.memory - mebibytes(node->load.memory_mib)},
                        .open = node->blocked.empty() && !node->gpus.empty() &&
                                !cluster.closed.contains(node->inventory.name),
                        .placed_pods = {}};
        state.placed_pods.resize(state.now.gpus.size());
        state.version = ++versions_;
        nodes_.push_back(std::move(state));
        refresh(nodes_.size() - 1);
    }
    add_placed_pods(cluster);
}

void DefragState::add_placed_pods(const Cluster& cluster) {
    std::unordered_map<PodUid, const MovablePod*> movable;
    movable.reserve(cluster.movable.size());
    for (const MovablePod& pod : cluster.movable) {
        if (!pod.request.containers.empty()) movable.emplace(pod.request.uid, &pod);
    }
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        const NodeInfo& original = *nodes_[node].original;
        for (const AssignedPodPtr& assigned_pod : original.assigned_pods) {
            const auto of = movable.find(assigned_pod->uid);
            if (of == movable.end() || assigned_pod->terminating || assigned_pod->resizing)
                continue;
            PlacedPod placed{.assigned_pod = assigned_pod,
                             .node = node,
                             .gpus = positions(*assigned_pod, original.inventory.gpus),
                             .size = on_gpus(*assigned_pod, original.inventory.gpus),
                             .movable = of->second,
                             .allocated = {}};
            if (placed.gpus.empty()) continue;
            for (const std::size_t gpu : placed.gpus) {
                placed.allocated.push_back(
                    allocated_on(*assigned_pod, original.inventory.gpus, gpu));
            }
            placed_pods_.push_back(std::move(placed));
        }
    }
    // The smallest pods lose the least work. Among equals, those on the last GPUs go first: the
    // scheduler fills the first GPUs, so their replacements do not come back.
    std::ranges::sort(placed_pods_, [](const PlacedPod& a, const PlacedPod& b) {
        return std::tie(a.size, b.node, b.gpus, a.assigned_pod->uid) <
               std::tie(b.size, a.node, a.gpus, b.assigned_pod->uid);
    });
    for (std::size_t i = 0; i < placed_pods_.size(); ++i) {
        for (const std::size_t gpu : placed_pods_[i].gpus)
            nodes_[placed_pods_[i].node].placed_pods[gpu].push_back(i);
    }
}

HostRequest DefragState::host_left(std::size_t node) const {
    const NodeState& state = nodes_[node];
    const HostRequest& has = state.original->inventory.host;
    return {has.cpu_milli - state.used.cpu_milli, has.memory - state.used.memory};
}

std::vector<char> DefragState::barred_nodes(const Barred& barred) const {
    std::vector<char> out;
    if (!barred) return out;
    out.reserve(nodes());
    for (const NodeState& state : nodes_)
        out.push_back(barred->contains(state.original->inventory.name) ? 1 : 0);
    return out;
}

std::size_t DefragState::kind_of(const MovablePod& pod) {
    // A scorer uses the CPU that a pod requests, but not its memory.
    const auto is_alike = [&](const Kind& kind) {
        const MovablePod& of = *kind.one;
        return of.scorer == pod.scorer && of.request.host.cpu_milli == pod.request.host.cpu_milli &&
               of.barred == pod.barred && of.request.containers == pod.request.containers &&
               (!has_nominees_ || of.request.priority == pod.request.priority);
    };
    const auto known = std::ranges::find_if(kinds_, is_alike);
    if (known != kinds_.end()) return static_cast<std::size_t>(known - kinds_.begin());
    kinds_.push_back({.one = &pod});
    return kinds_.size() - 1;
}

FreeCapacity DefragState::free_capacity() const {
    FreeCapacity out;
    for (const NodeState& node : nodes_) {
        if (!node.open) continue;
        for (const GpuState& gpu : left(node)) {
            out.largest = std::max(out.largest, gpu.free());
            if (gpu.usable && gpu.pods == 0 && gpu.allocated == Bytes{}) ++out.free_gpus;
        }
    }
    return out;
}

std::size_t DefragState::usable_gpus() const {
    std::size_t count = 0;
    for (const NodeState& node : nodes_) {
        if (!node.open) continue;
        count += static_cast<std::size_t>(
            std::ranges::count_if(node.now.gpus, [](const GpuState& gpu) { return gpu.usable; }));
    }
    return count;
}

bool DefragState::fits(Placer& placer, const HostRequest& host, std::size_t node) const {
    const NodeInfo& now = nodes_[node].now;
    return is_open(node) && has_host_room(now.inventory, host_left(node), host) &&
           try_left(placer, now, pod_) != nullptr;
}

bool DefragState::could_fit(Placer& placer, const HostRequest& host, std::size_t node) const {
    const NodeInfo& original = *nodes_[node].original;
    std::vector<GpuState> gpus = original.gpus;
    HostRequest left{original.load.cpu_milli, mebibytes(original.load.memory_mib)};
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        for (const std::size_t i : nodes_[node].placed_pods[gpu]) {
            const PlacedPod& placed = placed_pods_[i];
            if (placed.gpus.front() != gpu)
                continue;  // count it once, even if it is on several GPUs
            count_allocated(*placed.assigned_pod, original.inventory.gpus, gpus, -1);
            const HostRequest& its = placed.movable->request.host;
            left = {left.cpu_milli + its.cpu_milli, left.memory + its.memory};
        }
    }
    const RoomLeft room(std::move(gpus));
    return has_host_room(original.inventory, left, host) &&
           placer.try_node(room.node_gpus(original)) != nullptr;
}

std::optional<Place> DefragState::place(std::size_t pod_index) {
    PlacedPod& of = placed_pods_[pod_index];
    const Replacement made = of.movable->made;
    auto found = made == Replacement::once_gone ? place_once_gone(pod_index) : best_place(of);
    if (!found || found->touches(of)) return std::nullopt;
    if (made == Replacement::unknown) {
        const auto later = place_once_gone(pod_index);
        if (!later || !later->is_same(*found)) return std::nullopt;
    }
    return found;
}

std::optional<Place> DefragState::place_once_gone(std::size_t pod_index) {
    leave(pod_index);
    auto found = best_place(placed_pods_[pod_index]);
    undo_leave(pod_index);
    return found;
}

std::optional<Place> DefragState::best_place(PlacedPod& placed) {
    const MovablePod& pod = *placed.movable;
    if (!placed.kind) placed.kind = kind_of(pod);
    const auto best = cheapest_node(pod, prices_of(kinds_[*placed.kind]).nodes);
    if (!best) return std::nullopt;
    auto gpus = given_gpus(nodes_[*best].now, pod.request, successor_of(pod), pod.scorer.get());
    return Place{*best, *std::move(gpus)};
}

// Skips nodes without enough free memory for the pod, which are rare.
std::optional<std::size_t> DefragState::cheapest_node(const MovablePod& pod,
                                                      PriceList& prices) const {
    std::vector<std::pair<std::size_t, NodePrice>> passed;
    std::optional<std::size_t> best;
    while (!best && prices.best() != PriceList::kNone) {
        const std::size_t node = prices.first_best();
        if (has_host_room(nodes_[node].now.inventory, host_left(node), pod.request.host)) {
            best = node;
        } else {
            passed.emplace_back(node, prices.best());
            prices.set(node, PriceList::kNone);
        }
    }
    for (const auto& [node, price] : passed)
        prices.set(node, price);
    return best;
}

DefragState::Prices& DefragState::prices_of(Kind& kind) {
    const MovablePod& pod = *kind.one;
    Placer placer(pod.request.containers);
    if (!kind.prices) {
        if (priced_kinds() >= most_kinds_) forget_one_kind();
        kind.prices = no_prices(pod);
        for (std::size_t node = 0; node < nodes(); ++node)
            look_at(*kind.prices, pod, node, placer);
    }
    Prices& prices = *kind.prices;
    for (; prices.followed < changes_.size(); ++prices.followed)
        look_at(prices, pod, changes_[prices.followed], placer);
    return prices;
}

DefragState::Prices DefragState::no_prices(const MovablePod& pod) const {
    return {.nodes = PriceList(nodes()),
            .barred = barred_nodes(pod.barred),
            .versions = std::vector<std::uint64_t>(nodes()),
            .followed = changes_.size()};
}

std::size_t DefragState::priced_kinds() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(kinds_, [](const Kind& of) { return of.prices.has_value(); }));
}

// Drops the first kind: if the search cycles through the kinds, the kinds that come next are kept.
void DefragState::forget_one_kind() {
    std::ranges::find_if(kinds_, [](const Kind& of) {
        return of.prices.has_value();
    })->prices.reset();
}

void DefragState::look_at(Prices& prices, const MovablePod& pod, std::size_t node, Placer& placer) {
    if (prices.versions[node] == nodes_[node].version) return;
    prices.versions[node] = nodes_[node].version;
    const bool is_barred = !prices.barred.empty() && prices.barred[node] != 0;
    if (!is_barred) ++nodes_priced_;
    prices.nodes.set(
        node, is_barred ? PriceList::kNone : price(pod, node, placer).value_or(PriceList::kNone));
}

std::optional<NodePrice> DefragState::price(const MovablePod& pod, std::size_t node,
                                            Placer& placer) const {
    const NodeInfo& now = nodes_[node].now;
    const HostRequest cpu{.cpu_milli = pod.request.host.cpu_milli};
    if (!is_open(node) || !has_host_room(now.inventory, host_left(node), cpu)) return std::nullopt;
    const Assignment* assignment = try_left(placer, now, successor_of(pod));
    if (assignment == nullptr) return std::nullopt;
    // Nominees decide where the pod fits, but not which node is better (node_choice.cpp).
    if (pod.scorer != nullptr) {
        return price_of_score(pod.scorer->score_room(now, now.node_gpus(), pod.request),
                              assignment->price, node);
    }
    return price_of_assignment(assignment->price,
                               std::accumulate(now.free.begin(), now.free.end(), Bytes{}));
}

void DefragState::leave(std::size_t pod_index) {
    PlacedPod& of = placed_pods_[pod_index];
    of.moved = true;
    remove(of.node, *of.assigned_pod, of.movable->request.host, As::new_state);
}

void DefragState::undo_leave(std::size_t pod_index) {
    PlacedPod& of = placed_pods_[pod_index];
    of.moved = false;
    add(of.node, of.assigned_pod, of.movable->request.host, As::undone);
}

void DefragState::enter(std::size_t pod_index, const Place& place) {
    const MovablePod& pod = *placed_pods_[pod_index].movable;
    const NodeInventory& node = original(place.node).inventory;
    AssignedPod made{.uid = pod.request.uid, .name = pod.request.name};
    made.allocation.containers =
        containers_of(pod.request.containers, place.assignment, node.gpus, node.unit);
    made.allocated = allocated_by_gpu(made.allocation.containers);
    made.groups = rules_of(pod.request.containers).groups();
    add(place.node, std::make_shared<const AssignedPod>(std::move(made)), pod.request.host,
        As::new_state);
}

void DefragState::undo_enter(std::size_t pod_index, const Place& place) {
    const MovablePod& pod = *placed_pods_[pod_index].movable;
    const auto& assigned_pods = nodes_[place.node].now.assigned_pods;
    const AssignedPodPtr made =
        *std::ranges::find(assigned_pods, pod.request.uid, &AssignedPod::uid);
    remove(place.node, *made, pod.request.host, As::undone);
}

void DefragState::remove(std::size_t node, const AssignedPod& assigned_pod, const HostRequest& host,
                         As as) {
    NodeState& state = nodes_[node];
    count_allocated(assigned_pod, state.original->inventory.gpus, state.now.gpus, -1);
    std::erase_if(state.now.assigned_pods,
                  [&](const AssignedPodPtr& of) { return of->uid == assigned_pod.uid; });
    state.used = {state.used.cpu_milli - host.cpu_milli, state.used.memory - host.memory};
    refresh(node);
    note_change(node, as);
}

void DefragState::add(std::size_t node, AssignedPodPtr assigned_pod, const HostRequest& host,
                      As as) {
    NodeState& state = nodes_[node];
    count_allocated(*assigned_pod, state.original->inventory.gpus, state.now.gpus, 1);
    state.now.assigned_pods.push_back(std::move(assigned_pod));
    state.used = {state.used.cpu_milli + host.cpu_milli, state.used.memory + host.memory};
    refresh(node);
    note_change(node, as);
}

void DefragState::refresh(std::size_t node) {
    NodeState& state = nodes_[node];
    state.now.free = free_of(state.now.gpus);
    if (!state.now.nominees.empty()) state.left = gpus_left(state.now, pod_);
    state.now.load = load_of(state.now, state.original->load.model, state.used);
}

// Most changes are undone at once, and the earlier prices are valid again.
void DefragState::note_change(std::size_t node, As as) {
    NodeState& state = nodes_[node];
    changes_.push_back(static_cast<std::uint32_t>(node));
    if (as == As::undone) {
        state.version = state.versions_before.back();
        state.versions_before.pop_back();
        return;
    }
    state.versions_before.push_back(state.version);
    state.version = ++versions_;
}

std::int64_t DefragState::cost(const ContainerRequest& container, std::size_t node,
                               std::size_t at) const {
    const NodeState& state = nodes_[node];
    const GpuState& gpu = state.now.gpus[at];
    if (!state.open || !gpu.usable) return kNever;
    const bool whole = container.gpu.memory.kind == MemoryRequest::Kind::whole_gpu;
    const Bytes request =
        bytes_of(container.gpu.memory, state.original->inventory.unit, gpu.capacity);
    const auto fits_on = [&](const GpuState& of) {
        return request <= of.free() && (of.allocated_cores + container.gpu.cores).value <= 100 &&
               !(whole && of.pods > 0);
    };
    if (fits_on(left(state)[at])) return 0;
    if (fits_on(gpu)) return kLeastPart;
    const Bytes missing = request - gpu.free();
    const int missing_cores = (gpu.allocated_cores + container.gpu.cores).value - 100;
    std::vector<std::int64_t> memory;
    std::vector<int> cores;
    std::int64_t all = 0;
    std::size_t widest = 1;
    for (const std::size_t i : state.placed_pods[at]) {
        const PlacedPod& placed = placed_pods_[i];
        if (placed.moved) continue;
        const auto which = std::ranges::find(placed.gpus, at) - placed.gpus.begin();
        const auto& [memory_there, cores_there] = placed.allocated[static_cast<std::size_t>(which)];
        memory.push_back(memory_there.count);
        cores.push_back(cores_there.value);
        all += kOneMove / static_cast<std::int64_t>(placed.gpus.size());
        widest = std::max(widest, placed.gpus.size());
    }
    const auto by_memory = how_many(std::move(memory), missing.count);
    const auto by_cores = how_many(std::move(cores), missing_cores);
    const auto count = static_cast<int>(std::ranges::count_if(
        state.placed_pods[at], [&](std::size_t i) { return !placed_pods_[i].moved; }));
    if (!by_memory || !by_cores || (whole && gpu.pods > count)) return kNever;
    if (whole) return all;
    return std::max(*by_memory, *by_cores) * (kOneMove / static_cast<std::int64_t>(widest));
}

}  // namespace tessera::defrag
