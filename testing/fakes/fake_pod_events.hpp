// Keeps what users were told, behind the PodEvents port. Of one thread.
#pragma once

#include <string>
#include <vector>

#include "ports/pod_events.hpp"

namespace tessera {

class FakePodEvents final : public PodEvents {
  public:
    Result<> tell(const PodEvent& event) override {
        told_.push_back(event.reason + ": " + event.message);
        return {};
    }
    // "REASON: MESSAGE", in order.
    [[nodiscard]] const std::vector<std::string>& told() const { return told_; }

  private:
    std::vector<std::string> told_;
};

}  // namespace tessera
