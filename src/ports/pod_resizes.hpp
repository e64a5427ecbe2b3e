// Writing what a pod holds anew while it runs. Any thread; each call ends by its own deadline.
#pragma once

#include <chrono>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "ports/kube_api.hpp"

namespace tessera {

class PodResizes {
  public:
    // A pod as the API server has it.
    struct Shown {
        PodFacts facts;
        std::string version;  // of the object: every write makes another
        std::string wish;     // the text of the annotation tessera.dev/resize
        std::string refusal;  // and of tessera.dev/resize-refused
    };

    virtual ~PodResizes() = default;

    // From the API server itself, no cache. not_found: it is gone.
    virtual Result<Shown> read(const PodName& pod) = 0;
    // One write of annotations (an empty value removes one), carried out only on the pod of that
    // uid in that very version: conflict where it is another by now. unavailable: the answer is
    // unknown, the write may have happened. It takes effect within kTakes of the call, or never.
    static constexpr std::chrono::milliseconds kTakes{5'000};
    virtual Result<> write(const PodUid& uid, const PodName& pod, const std::string& version,
                           const StringMap& annotations) = 0;
    // With the rights of the pod's user: puts the wish in its annotation, on that version of the
    // pod. Errors as write().
    virtual Result<> wish(const PodUid& uid, const PodName& pod, const std::string& version,
                          const std::string& text) = 0;
};

}  // namespace tessera
