// AdmissionReview of admission.k8s.io/v1, as far as the webhook for pods needs it. A patch is JSON
// Patch (RFC 6902).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/admission/pod_admission.hpp"
#include "wire/text/json.hpp"

namespace tessera {

struct AdmissionRequest {
    std::string uid;  // of the request; the answer repeats it
    CreatedPod pod;
};

// invalid_argument unless it is the request to create a pod; the text says which field is wrong.
Result<AdmissionRequest> read_admission_review(JsonValue review, const Dialects& dialects);

// The answer that allows the request with these changes.
std::string write_admission_answer(std::string_view uid, const PodEdits& edits);
// The patch in it; empty if nothing is changed.
std::string write_pod_patch(const PodEdits& edits);

}  // namespace tessera
