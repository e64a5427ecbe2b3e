// Events behind the PodEvents port, as they were told. Of one thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ports/pod_events.hpp"

namespace tessera {

class FakePodEvents final : public PodEvents {
  public:
    Result<> tell(const PodEvent& event) override {
        if (const auto error = std::exchange(next_error, std::nullopt)) return fail(*error);
        told.push_back(event);
        return {};
    }

    std::vector<PodEvent> told;
    std::optional<Error> next_error;
};

}  // namespace tessera
