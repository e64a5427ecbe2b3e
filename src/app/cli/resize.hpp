// tessera resize: writes a wish onto a running pod, and waits for the controller's answer.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ports/clock.hpp"
#include "ports/pod_resizes.hpp"

namespace tessera {

struct ResizeAsk {
    PodName pod;
    std::string container;  // empty: its only one with a share
    std::optional<Bytes> memory;
    std::optional<Percent> cores;
    std::optional<Percent> ceiling;
    std::chrono::seconds timeout{30};
    std::string id;  // of this wish and no other
};

// What became of it, in a line: what changed per container and card. Errors: the refusal, with its
// code (domain/allocation/resize.hpp); unavailable where nobody answers in time, the wish stands
// then; conflict where another wish took its place; not_found, permission_denied.
Result<std::string> ask_to_resize(PodResizes& pods, Clock& clock, const ResizeAsk& ask);

}  // namespace tessera
