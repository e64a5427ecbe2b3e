// AdmissionReview of admission.k8s.io/v1, as far as the webhooks for pods and for objects that make
// pods need it. v1beta1 is the same, and is answered in kind. A patch is JSON Patch (RFC 6902).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/admission/pod_admission.hpp"
#include "domain/admission/pod_validation.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// Of a request; the answer repeats it.
struct AdmissionReviewId {
    std::string version;  // apiVersion
    std::string uid;
};

struct AdmissionRequest {
    AdmissionReviewId id;
    std::string ns;      // of the object
    bool is_pod = true;  // else an object with a template of pods
    PodToValidate checked;
};

// invalid_argument unless it is the request to create a pod, or to create or change a Deployment,
// StatefulSet, DaemonSet, ReplicaSet, Job or CronJob; the text says which field is wrong.
Result<AdmissionRequest> read_admission_review(JsonValue review, const Dialects& dialects);

// The answer that allows the request with these changes, or denies it with the error's text for the
// user.
std::string write_admission_answer(const AdmissionReviewId& id, const Result<PodEdits>& edits);
// The patch in it; empty if nothing is changed.
std::string write_pod_patch(const PodEdits& edits);

}  // namespace tessera
