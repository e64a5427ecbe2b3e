// Which GPUs a pod accepts for its shares, apart from free memory and compute: certain models or
// GPUs, affinity and anti-affinity to other pods, links between its GPUs, and what isolates its
// shares from those of other pods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/request/link.hpp"

namespace tessera {

// The annotations and labels of a pod, in any dialect; docs/placement.md says what they mean.
inline constexpr std::string_view kGpuModels = "tessera.dev/gpu-models";
inline constexpr std::string_view kGpuUuids = "tessera.dev/gpu-uuids";
inline constexpr std::string_view kGpuTopology = "tessera.dev/gpu-topology";
inline constexpr std::string_view kIsolation = "tessera.dev/isolation";
// Labels, so that selectors find the pods of a group.
inline constexpr std::string_view kGpuAntiAffinity = "tessera.dev/gpu-anti-affinity";
inline constexpr std::string_view kGpuAffinity = "tessera.dev/gpu-affinity";

// What limits a share, if the pod says so. On a GPU, the pods with MPS and the others exclude each
// other: a GPU that has MPS clients admits no other program.
enum class Isolation {
    guard,   // Tessera's guard, which lets one container's kernels run after the other's
    mps,     // NVIDIA MPS limits the compute: kernels of containers run side by side
    driver,  // the driver limits the memory (Gpu::limits_memory), and the guard the compute
};

// As in the annotation.
std::string_view word_of(Isolation isolation);

// Pods of one namespace that name the same group in the same label: a hash of all three. Two
// groups with the same hash count as one, which can apply a rule to pods that do not need it.
using GpuGroup = std::uint64_t;

// The texts of the annotations and labels; empty if the pod has none.
struct GpuRuleTexts {
    std::string models;
    std::string uuids;
    std::string anti_affinity;
    std::string affinity;
    std::string topology;
    std::string isolation = {};

    friend bool operator==(const GpuRuleTexts&, const GpuRuleTexts&) = default;
};

struct GpuRules {
    // Any of these if the list is not empty, and none of the barred ones.
    std::vector<std::string> models;
    std::vector<std::string> barred_models;
    std::vector<GpuUuid> uuids;
    std::vector<GpuUuid> barred_uuids;
    // The pod takes no GPU that another pod of this group uses.
    std::optional<GpuGroup> anti_affinity;
    // The pod takes only GPUs that another pod of this group uses, as soon as there are any.
    std::optional<GpuGroup> affinity;
    bool joins = false;  // another pod of `affinity` uses a GPU somewhere: Snapshot::joined
    // How each two GPUs of a container are linked, for containers that request several GPUs.
    std::optional<Link> link;
    // Nothing: what the node enforces shares with, but not MPS.
    std::optional<Isolation> isolation = {};

    // True if these rules accept every GPU, whatever pods use it, as long as none of them uses MPS.
    [[nodiscard]] bool admits_any() const {
        return models.empty() && barred_models.empty() && uuids.empty() && barred_uuids.empty() &&
               !anti_affinity && !affinity && !isolation;
    }
    [[nodiscard]] bool uses_mps() const { return isolation == Isolation::mps; }
    // The groups that the pod belongs to.
    [[nodiscard]] std::vector<GpuGroup> groups() const;

    friend bool operator==(const GpuRules&, const GpuRules&) = default;
};

// Errors are invalid_argument; they name the annotation or label and say what to write in it.
Result<GpuRules> parse_gpu_rules(const GpuRuleTexts& texts, std::string_view ns);

bool admits_uuid(const GpuRules& rules, const GpuUuid& uuid);
bool admits_model(const GpuRules& rules, std::string_view model);

// Whether the request, such as "A100", is a sequence of whole words in a model's name, such as
// "NVIDIA A100-SXM4-80GB". Upper and lower case are equal. "A10" is no word of that name.
bool is_of_model(std::string_view alternative, std::string_view model);

// The requested models and UUIDs in words: "a GPU of model A100 or H100". Short, whatever the pod
// has written.
std::string describe_rules(const GpuRules& rules);

}  // namespace tessera
