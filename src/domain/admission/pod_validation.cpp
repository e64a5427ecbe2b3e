#include "domain/admission/pod_validation.hpp"

#include "domain/cluster/pod_request.hpp"

namespace tessera {

Result<> validate_pod(const PodToValidate& checked, const Dialects& dialects) {
    if (checked.pod.is_mirror || !requests_gpus(checked.pod, dialects)) return {};
    auto request = request_of(checked.info);
    if (request) return {};
    if (checked.before) {
        const auto before = request_of(*checked.before);
        if (!before && before.error() == request.error()) return {};
    }
    return fail(std::move(request).error());
}

}  // namespace tessera
