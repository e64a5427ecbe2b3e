// The pods whose metrics a HorizontalPodAutoscaler asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/autoscaling/request_counter.hpp"

namespace tessera {

struct MeasuredPod {
    std::string name;
    PodUid uid;
    std::string address{};                    // its IP address; empty: it has none yet
    std::optional<RequestCounter> counter{};  // where it counts its requests

    friend bool operator==(const MeasuredPod&, const MeasuredPod&) = default;
};

// Any thread may call. Each call ends by its own deadline.
class MeasuredPods {
  public:
    virtual ~MeasuredPods() = default;

    // The pods of a namespace that a label selector selects; empty: all of them. invalid_argument
    // for a text that is no selector.
    virtual Result<std::vector<MeasuredPod>> select(const std::string& ns,
                                                    const std::string& selector) = 0;
    // not_found if there is no such pod.
    virtual Result<MeasuredPod> get(const std::string& ns, const std::string& name) = 0;
};

}  // namespace tessera
