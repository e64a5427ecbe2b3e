// tessera resize: writes a request on a running pod, and waits for the controller's answer.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ports/clock.hpp"
#include "ports/kube/pod_resizes.hpp"

namespace tessera {

struct ResizeRequest {
    PodName pod;
    std::string container;  // empty: its only container with a GPU share
    std::optional<Bytes> memory;
    std::optional<Percent> cores;
    std::optional<Percent> cores_limit;
    std::chrono::seconds timeout{30};
    std::string id;  // unique for each request
};

// Returns the outcome in one line: what changed per container and GPU. Errors: the refusal, with
// its code (domain/allocation/resize.hpp); unavailable if there is no answer in time, and the
// request then remains open; conflict if another request replaced it; not_found, permission_denied.
Result<std::string> request_resize(PodResizes& pods, Clock& clock, const ResizeRequest& request);

}  // namespace tessera
