// What the admission webhook changes in a pod that is created: what its creator would otherwise
// have to write in every pod, and allocations that only Tessera may write. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "domain/budget/governed_namespace.hpp"
#include "domain/dialect/dialect.hpp"
#include "domain/request/container_spec.hpp"

namespace tessera {

// A container with a limit of a dialect.
struct CreatedContainer {
    std::size_t position = 0;  // in the pod's list of containers, or of init containers
    ContainerSpec spec;        // only the limits of dialects
};

// A pod as it reaches the API server, or a pod of a template.
struct CreatedPod {
    NodeName node;           // not empty: no scheduler places it
    bool is_mirror = false;  // of a static pod: kubelet refuses it if it was changed
    std::string scheduler;
    std::string runtime_class;
    std::string priority_class;
    // The API server computed these from the class, before it asked the webhook.
    std::optional<std::int64_t> priority{};
    bool has_preemption_policy = false;
    std::vector<CreatedContainer> containers;
    std::vector<std::string> annotations;  // the keys
};

struct AdmissionRules {
    // Annotations that only Tessera writes, beside those of dialects; outlive the rules.
    std::span<const std::string_view> own_annotations = {};
    // The scheduler of pods that request GPUs and name none; empty: not set.
    std::string scheduler;
    // The RuntimeClass of pods that request GPUs and have none; empty: not set.
    std::string runtime_class;
};

struct AddedLimit {
    ContainerKind kind;  // an app container, or any init container
    std::size_t position;
    std::string resource;
    std::string amount;

    friend bool operator==(const AddedLimit&, const AddedLimit&) = default;
};

// Empty texts: nothing is set.
struct PodEdits {
    std::string scheduler;
    std::string runtime_class;
    std::string priority_class;
    // With a priority class: the API server refuses a pod with a class and another class's numbers.
    bool removes_priority = false;
    bool removes_preemption_policy = false;
    std::vector<AddedLimit> limits;
    std::vector<std::string> removed_annotations;

    friend bool operator==(const PodEdits&, const PodEdits&) = default;
};

// Whether a container or an annotation requests GPUs, in a dialect that is switched on.
bool requests_gpus(const CreatedPod& pod, const Dialects& dialects);

// The limits that the webhook adds to a container, by the dialects that are switched on
// (Dialect::missing_limit): resource and amount.
std::vector<std::pair<std::string, std::string>> missing_limits(const ContainerSpec& container,
                                                                const Dialects& dialects);

// A pod that requests no GPU, in any dialect that is switched on, keeps all but forged allocations.
// `governed`: the pod's namespace; null: it has no budget.
PodEdits admit_pod(const CreatedPod& pod, const AdmissionRules& rules, const Dialects& dialects,
                   const GovernedNamespace* governed = nullptr);

}  // namespace tessera
