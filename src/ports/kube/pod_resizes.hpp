// Writes the allocation of a running pod. Any thread; each call ends by its own deadline.
#pragma once

#include <chrono>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/cluster/pod_info.hpp"
#include "ports/kube/kube_api.hpp"

namespace tessera {

class PodResizes {
  public:
    // A pod as the API server shows it.
    struct Shown {
        PodInfo info;
        std::string version;    // the object's resourceVersion: it changes with every write
        std::string requested;  // the text of the annotation tessera.dev/resize-request
        std::string refusal;    // the text of the annotation tessera.dev/resize-refused
    };

    virtual ~PodResizes() = default;

    // Reads from the API server itself, without a cache. not_found: the pod is gone.
    virtual Result<Shown> read(const PodName& pod) = 0;
    // One write of annotations (an empty value removes one). It is carried out only if the pod has
    // that uid and exactly that version; conflict if it has another one. unavailable: the outcome
    // is unknown, the write may have happened. It takes effect within kTakes of the call, or never.
    static constexpr std::chrono::milliseconds kTakes{5'000};
    virtual Result<> write(const PodUid& uid, const PodName& pod, const std::string& version,
                           const StringMap& annotations) = 0;
    // With the permissions of the pod's user: writes the request into the pod's annotation, on that
    // version of the pod. Errors as write().
    virtual Result<> request(const PodUid& uid, const PodName& pod, const std::string& version,
                             const std::string& text) = 0;
};

}  // namespace tessera
