#include "programs/pod_argument.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/dns_name.hpp"

namespace tessera {

Result<PodName> pod_argument(const std::string& what, std::string text, const std::string& space) {
    if (text.starts_with("pod/")) text.erase(0, 4);
    if (!is_dns_name(text)) {
        return fail(Code::invalid_argument,
                    fmt::format("{}: \"{}\" is not a pod's name", what, text));
    }
    if (!is_dns_name(space)) {
        return fail(Code::invalid_argument,
                    fmt::format("--namespace: \"{}\" is not a namespace's name", space));
    }
    return PodName{space, std::move(text)};
}

Result<> check_pod_argument(const std::string& what, const std::string& text,
                            const std::string& space) {
    TRY_VOID(pod_argument(what, text, space.empty() ? "default" : space));
    return {};
}

}  // namespace tessera
