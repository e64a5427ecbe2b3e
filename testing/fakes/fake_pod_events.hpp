// Records events behind the PodEvents port. Not thread-safe.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ports/kube/pod_events.hpp"

namespace tessera {

class FakePodEvents final : public PodEvents {
  public:
    Result<> tell(const PodEvent& event) override {
        if (const auto error = std::exchange(next_error, std::nullopt)) return fail(*error);
        reported.push_back(event);
        return {};
    }

    std::vector<PodEvent> reported;
    std::optional<Error> next_error;
};

}  // namespace tessera
