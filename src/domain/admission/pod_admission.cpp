#include "domain/admission/pod_admission.hpp"

#include <algorithm>
#include <string_view>

namespace tessera {
namespace {

// What the API server writes into a pod that names no scheduler.
constexpr std::string_view kDefaultScheduler = "default-scheduler";

// A pod that is created has no allocation: these were copied from another pod, or made up.
bool is_forged(std::string_view annotation, const AdmissionRules& rules, const Dialects& dialects) {
    return std::ranges::find(rules.own_annotations, annotation) != rules.own_annotations.end() ||
           std::ranges::any_of(dialects.all(), [&](const Dialect* dialect) {
               return std::ranges::find(dialect->written_annotations, annotation) !=
                      dialect->written_annotations.end();
           });
}

}  // namespace

bool requests_gpus(const CreatedPod& pod, const Dialects& dialects) {
    const auto is_of_one_on = [&](const Dialect* dialect) {
        return dialect != nullptr && dialects.is_on(*dialect);
    };
    return std::ranges::any_of(pod.annotations,
                               [&](const std::string& annotation) {
                                   return is_of_one_on(dialects.of_annotation(annotation));
                               }) ||
           std::ranges::any_of(pod.containers, [&](const CreatedContainer& container) {
               return std::ranges::any_of(container.spec.limits, [&](const auto& limit) {
                   return is_of_one_on(dialects.of_resource(limit.first));
               });
           });
}

std::vector<std::pair<std::string, std::string>> missing_limits(const ContainerSpec& container,
                                                                const Dialects& dialects) {
    std::vector<std::pair<std::string, std::string>> limits;
    for (const Dialect* dialect : dialects.on()) {
        if (dialect->missing_limit == nullptr) continue;
        if (auto limit = dialect->missing_limit(container)) limits.push_back(*std::move(limit));
    }
    return limits;
}

PodEdits admit_pod(const CreatedPod& pod, const AdmissionRules& rules, const Dialects& dialects,
                   const GovernedNamespace* governed) {
    PodEdits edits;
    if (pod.is_mirror) return edits;
    for (const std::string& annotation : pod.annotations)
        if (is_forged(annotation, rules, dialects)) edits.removed_annotations.push_back(annotation);
    if (!requests_gpus(pod, dialects)) return edits;
    const bool names_none = pod.scheduler.empty() || pod.scheduler == kDefaultScheduler;
    if (pod.node.empty() && names_none && pod.scheduler != rules.scheduler)
        edits.scheduler = rules.scheduler;
    if (pod.runtime_class.empty()) edits.runtime_class = rules.runtime_class;
    for (const auto& [position, spec] : pod.containers) {
        for (auto& [resource, amount] : missing_limits(spec, dialects))
            edits.limits.push_back({spec.kind, position, std::move(resource), std::move(amount)});
    }
    if (governed != nullptr) {
        edits.priority_class =
            priority_class_of(*governed, pod.priority_class, pod.priority.value_or(0));
    }
    edits.removes_priority = !edits.priority_class.empty() && pod.priority.has_value();
    edits.removes_preemption_policy = !edits.priority_class.empty() && pod.has_preemption_policy;
    return edits;
}

}  // namespace tessera
