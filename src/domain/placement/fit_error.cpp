#include "domain/placement/fit_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "domain/placement/gpu_room.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

// The first two are gpushare's sentences, because its users' tools look for them
// (docs/compat/gpushare.md). No sentence has a percent sign, because kube-scheduler uses the
// reasons as a format string.
constexpr std::string_view kNoMemory = "Insufficient GPU Memory in one device";
constexpr std::string_view kNoCompute = "Insufficient GPU compute in one device";
constexpr std::string_view kOtherGpu = "No GPU of the requested kind";
constexpr std::string_view kAffinity = "No GPU with the requested affinity";
constexpr std::string_view kIsolated = "No GPU with the requested isolation";
constexpr std::string_view kNotLinked = "No GPUs with the requested link";
constexpr const char* kSingleShare =
    "Insufficient GPU Memory in one device: the node's plugin (gpushare's) gives one GPU to one "
    "container, and the pod asks for more than that";

std::string memory_words(const MemoryRequest& memory, MemoryUnit unit) {
    switch (memory.kind) {
        case MemoryRequest::Kind::whole_gpu:
            return "a whole GPU";
        case MemoryRequest::Kind::percent:
            return fmt::format("{} percent of a GPU's memory", memory.amount);
        case MemoryRequest::Kind::bytes:
        case MemoryRequest::Kind::node_units:
            break;
    }
    return rounded_up(bytes_of(memory, unit, {}));
}

std::string asked(const GpuRequest& gpu, MemoryUnit unit) {
    std::string text = memory_words(gpu.memory, unit);
    if (gpu.cores.value > 0) text += fmt::format(" and {} percent of its compute", gpu.cores.value);
    return gpu.gpus == 1 ? text : fmt::format("{} on each of {} GPUs", text, gpu.gpus);
}

// The container that requests most of a GPU; the message quotes its request.
const GpuRequest& hardest(const ContainerRequests& request, MemoryUnit unit) {
    const auto need = [unit](const ContainerRequest& c) {
        return std::pair(bytes_of(c.gpu.memory, unit, kMoreThanAnyGpu), c.gpu.gpus);
    };
    return std::ranges::max_element(request, {}, need)->gpu;
}

// For a pod that requires a link: the container with the most GPUs.
const GpuRequest& widest(const ContainerRequests& request) {
    const auto gpus = [](const ContainerRequest& c) { return c.gpu.gpus; };
    return std::ranges::max_element(request, {}, gpus)->gpu;
}

std::string linked(const GpuRequest& gpu) {
    return fmt::format("{} GPUs linked by {}", gpu.gpus, words_of(*gpu.rules.link));
}

// Which of the two affinity labels the pod has.
std::string affinity_of(const GpuRules& rules) {
    if (!rules.affinity) return std::string(kGpuAntiAffinity);
    if (!rules.anti_affinity) return std::string(kGpuAffinity);
    return fmt::format("{} or {}", kGpuAntiAffinity, kGpuAffinity);
}

// The models of the GPUs, in words: "Tesla T4 and Tesla P100".
std::string models_of(std::span<const Gpu> gpus) {
    std::set<std::string_view> models;
    for (const Gpu& gpu : gpus)
        models.insert(gpu.model.empty() ? "of unknown model" : std::string_view(gpu.model));
    return fmt::format("{}", fmt::join(models, " and "));
}

// The largest values of any GPU of a node.
struct Most {
    Bytes capacity;
    Bytes free;
    int unusable = 0;  // all GPUs
};

Most most_of(std::span<const GpuState> gpus) {
    Most out;
    for (const GpuState& gpu : gpus) {
        out.capacity = std::max(out.capacity, gpu.capacity);
        out.free = std::max(out.free, gpu.free());
        out.unusable += gpu.usable ? 0 : 1;
    }
    return out;
}

}  // namespace

Explainer::Explainer(const ContainerRequests& request)
    : request_(request),
      one_share_(asks_one_share(request)),
      only_memory_(asks_only_memory(request)),
      gpu_constraints_(rules_of(request)) {}

const FitError& Explainer::explain(const PlacementRow& row) {
    // Which of the GPUs have pods with MPS is not among Alike.
    if (!only_memory_ || row.mps > 0) {
        FitError fit_error = explain(row.node->node_gpus());
        const auto at = worded_.find(fit_error.message);
        if (at != worded_.end()) return at->second;
        std::string words = fit_error.message;
        return worded_.emplace(std::move(words), std::move(fit_error)).first->second;
    }
    const Alike alike{row.gpus, row.unit, row.largest.count, row.largest_free.count, row.unusable};
    const auto [at, is_new] = explained_.try_emplace(alike);
    if (is_new) at->second = explain(row.node->node_gpus());
    return at->second;
}

FitError Explainer::explain(const NodeGpus& node_gpus) {
    if (node_gpus.states.empty())
        return {true, "no GPU on this node", UnschedulableReason::no_gpu, {}};
    if (node_gpus.single_share && !one_share_)
        return {true, kSingleShare, UnschedulableReason::single_share, {}};
    gpu_constraints_.look_at(node_gpus);
    if (auto too_few = explain_exclusion(node_gpus)) return *std::move(too_few);
    std::vector<GpuState> admitted;
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
        if (gpu_constraints_.admits(i)) admitted.push_back(node_gpus.states[i]);
    }
    FitError fit_error = explain_links(node_gpus, admitted);
    // A GPU that is large enough may have pods of the other kind, which end.
    if (fit_error.reason == UnschedulableReason::too_large &&
        admitted.size() < node_gpus.states.size() && lacks_isolation(node_gpus)) {
        fit_error.never = false;
        fit_error.reason = UnschedulableReason::isolation;
    }
    return fit_error;
}

bool Explainer::lacks_isolation(const NodeGpus& node_gpus) const {
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
        if (gpu_constraints_.verdict(i) == Admitted::isolation) return true;
    }
    return false;
}

std::optional<FitError> Explainer::explain_exclusion(const NodeGpus& node_gpus) const {
    const GpuRules& rules = rules_of(request_);
    const GpuRequest& gpu = hardest(request_, node_gpus.unit);
    const std::size_t gpus = node_gpus.states.size();
    std::array<int, 5> counts{};
    for (std::size_t i = 0; i < gpus; ++i)
        ++counts.at(static_cast<std::size_t>(gpu_constraints_.verdict(i)));
    const auto with = [&](Admitted verdict) {
        return counts.at(static_cast<std::size_t>(verdict));
    };
    int left = static_cast<int>(gpus);
    // Whether leaving out these GPUs is a reason: too few are left, and some are left out.
    const auto lacks = [&](Admitted verdict) {
        left -= with(verdict);
        return left < gpu.gpus && with(verdict) > 0;
    };
    if (lacks(Admitted::other_gpu)) {
        return FitError{true,
                        fmt::format("{}: asked {}{}, this node has {} ({} GPUs)", kOtherGpu,
                                    describe_rules(rules),
                                    gpu.gpus > 1 ? fmt::format(", {} of them", gpu.gpus) : "",
                                    models_of(node_gpus.gpus), gpus),
                        UnschedulableReason::other_gpu,
                        {},
                        node_gpus.unit};
    }
    if (lacks(Admitted::not_offered)) {
        return FitError{true,
                        fmt::format("{}: {} {}, which this node does not offer", kIsolated,
                                    kIsolation, word_of(*rules.isolation)),
                        UnschedulableReason::not_offered,
                        {},
                        node_gpus.unit};
    }
    if (lacks(Admitted::isolation)) {
        return FitError{
            false,
            fmt::format("{}: pods {} MPS use {} of this node's {} GPUs", kIsolated,
                        rules.uses_mps() ? "without" : "with", with(Admitted::isolation), gpus),
            UnschedulableReason::isolation,
            {},
            node_gpus.unit};
    }
    if (lacks(Admitted::affinity)) {
        return FitError{false,
                        fmt::format("{}: {} leaves {} of this node's {} GPUs", kAffinity,
                                    affinity_of(rules), left, gpus),
                        UnschedulableReason::affinity,
                        {},
                        node_gpus.unit};
    }
    return std::nullopt;
}

FitError Explainer::explain_links(const NodeGpus& node_gpus,
                                  std::span<const GpuState> admitted) const {
    const GpuRequest& gpu = widest(request_);
    if (!gpu.rules.link || gpu.gpus == 1) return explain_room(admitted, node_gpus.unit);
    Counts most;
    Counts all;
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i)
        count(node_gpus, i, all);
    for (const TopologyGroup& topology_group : node_gpus.topology_groups) {
        if (!topology_group.has(*gpu.rules.link)) continue;
        Counts here;
        for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
            if (is_among(topology_group.gpus, i)) count(node_gpus, i, here);
        }
        most.of_kind = std::max(most.of_kind, here.of_kind);
        most.with_room = std::max(most.with_room, here.with_room);
    }
    if (most.of_kind < gpu.gpus) {
        const std::string here =
            node_gpus.topology_groups.empty()
                ? fmt::format("this node does not say how its {} GPUs are", node_gpus.states.size())
            : most.of_kind == 0
                ? fmt::format("none of this node's {} GPUs are", node_gpus.states.size())
                : fmt::format("at most {} of this node's {} GPUs are", most.of_kind,
                              node_gpus.states.size());
        return {true,
                fmt::format("{}: asked {}, {}", kNotLinked, linked(gpu), here),
                UnschedulableReason::not_linked,
                {},
                node_gpus.unit};
    }
    if (all.with_room < gpu.gpus || most.with_room >= gpu.gpus)
        return explain_room(admitted, node_gpus.unit);
    return {false,
            fmt::format("{}: asked {}, {} of them have enough free", kNotLinked, linked(gpu),
                        most.with_room),
            UnschedulableReason::links,
            {},
            node_gpus.unit};
}

void Explainer::count(const NodeGpus& node_gpus, std::size_t index, Counts& counts) const {
    const GpuRequest& gpu = widest(request_);
    if (gpu_constraints_.verdict(index) == Admitted::other_gpu) return;
    ++counts.of_kind;
    if (gpu_constraints_.admits(index) && has_room(node_gpus, index, gpu)) ++counts.with_room;
}

FitError Explainer::explain_room(std::span<const GpuState> states, MemoryUnit unit) const {
    const bool has_mps = gpu_constraints_.leaves_out_mps();
    const std::string_view noun =
        rules_of(request_).admits_any() && !has_mps ? "GPUs" : "GPUs that it accepts";
    const GpuRequest& gpu = hardest(request_, unit);
    const Most most = most_of(states);
    int large_enough = 0;
    int free_enough = 0;
    for (const GpuState& state : states) {
        const Bytes request = bytes_of(gpu.memory, unit, state.capacity);
        large_enough += request <= state.capacity ? 1 : 0;
        free_enough += state.usable && request <= state.free() ? 1 : 0;
    }
    const std::string unusable =
        most.unusable == 0 ? "" : fmt::format(", {} out of use", most.unusable);
    const std::string of_gpus = fmt::format("({} {}{})", states.size(), noun, unusable);
    if (large_enough < gpu.gpus) {
        const std::string room =
            gpu.gpus == 1
                ? fmt::format("the largest of {} {} has {}, {} are large enough", states.size(),
                              noun, rounded_down(most.capacity), large_enough)
                : fmt::format("{} of this node's {} {} are large enough", large_enough,
                              states.size(), noun);
        return {true, fmt::format("{}: asked {}, {}", kNoMemory, asked(gpu, unit), room),
                UnschedulableReason::too_large, most.capacity, unit};
    }
    const bool none_usable = most.unusable == static_cast<int>(states.size());
    if (free_enough < gpu.gpus) {
        const std::string room = gpu.gpus == 1
                                     ? fmt::format("largest free share on a GPU is {} {}",
                                                   rounded_down(most.free), of_gpus)
                                     : fmt::format("{} of this node's {} {} have that free{}",
                                                   free_enough, states.size(), noun, unusable);
        return {false, fmt::format("{}: asked {}, {}", kNoMemory, asked(gpu, unit), room),
                none_usable ? UnschedulableReason::unhealthy : UnschedulableReason::memory,
                most.free, unit};
    }
    if (gpu.cores.value > 0) {
        return {false, fmt::format("{}: asked {} {}", kNoCompute, asked(gpu, unit), of_gpus),
                UnschedulableReason::compute, most.free, unit};
    }
    return {
        false,
        fmt::format("{} for the pod's {} containers together: the largest asks {}, largest "
                    "free share on a GPU is {} {}",
                    kNoMemory, request_.size(), asked(gpu, unit), rounded_down(most.free), of_gpus),
        UnschedulableReason::together, most.free, unit};
}

std::string Explainer::explain_many(const FitError& most) const {
    const GpuRequest& gpu = hardest(request_, most.unit);
    const std::string request = asked(gpu, most.unit);
    switch (most.reason) {
        case UnschedulableReason::too_large:
            return fmt::format("{}: asked {}, the largest GPU of all these nodes has {}", kNoMemory,
                               request, rounded_down(most.most));
        case UnschedulableReason::memory:
            if (gpu.gpus > 1) {
                return fmt::format("{}: asked {}, and no node has that many with enough free",
                                   kNoMemory, request);
            }
            return fmt::format(
                "{}: asked {}, largest free share on a GPU of all these nodes is "
                "{}",
                kNoMemory, request, rounded_down(most.most));
        case UnschedulableReason::unhealthy:
            return fmt::format("{}: asked {}, and every GPU is out of use", kNoMemory, request);
        case UnschedulableReason::compute:
            return fmt::format("{}: asked {}", kNoCompute, request);
        case UnschedulableReason::other_gpu:
            return fmt::format("{}: asked {}", kOtherGpu, describe_rules(rules_of(request_)));
        case UnschedulableReason::not_offered:
            return fmt::format("{}: no node offers {} {}", kIsolated, kIsolation,
                               word_of(*rules_of(request_).isolation));
        case UnschedulableReason::isolation:
            return fmt::format("{}: pods {} MPS use too many GPUs of each node", kIsolated,
                               rules_of(request_).uses_mps() ? "without" : "with");
        case UnschedulableReason::links:
        case UnschedulableReason::not_linked:
            return fmt::format("{}: asked {}", kNotLinked, linked(widest(request_)));
        case UnschedulableReason::affinity:
            return fmt::format("{}: {} leaves too few GPUs of each node", kAffinity,
                               affinity_of(rules_of(request_)));
        case UnschedulableReason::together:
            return fmt::format(
                "{} for the pod's {} containers together: the largest asks {}, "
                "largest free share on a GPU of all these nodes is {}",
                kNoMemory, request_.size(), request, rounded_down(most.most));
        default:
            return most.message;
    }
}

}  // namespace tessera
