#include "wire/kube/pod_group_json.hpp"

#include <algorithm>

#include "domain/request/gang.hpp"

namespace tessera {

PodGroup read_pod_group(JsonValue json) {
    const JsonValue metadata = json["metadata"];
    const auto count = json["spec"]["schedulingPolicy"]["gang"]["minCount"].integer();
    // Kubernetes has no upper limit; a gang that is larger than ours is never complete.
    const std::int64_t most = kMostGangPods + 1;
    return {{metadata["namespace"].text_or(""), metadata["name"].text_or("")},
            static_cast<int>(std::clamp<std::int64_t>(count.value_or(0), 0, most))};
}

}  // namespace tessera
