// Whether the admission webhook lets an object be created or changed: a pod, or an object that
// makes pods from a template. What is refused here could never get its GPUs. Pure.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "domain/admission/pod_admission.hpp"
#include "domain/cluster/pod_info.hpp"

namespace tessera {

struct PodToValidate {
    CreatedPod pod;  // or a pod of the template
    // The same for the scheduler, as it will be with the limits that the webhook adds.
    PodInfo info;
    std::optional<PodInfo> before;  // before a change
};

// The error that the scheduler would have for the pod: it names the container and the resource, or
// the annotation, and says what to write instead. None for a pod that requests no GPU in a dialect
// that is switched on, for a mirror of a static pod, and for a change that leaves the error as it
// was: such objects can be scaled and deleted.
Result<> validate_pod(const PodToValidate& checked, const Dialects& dialects);

}  // namespace tessera
