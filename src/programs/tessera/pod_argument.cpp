#include "programs/tessera/pod_argument.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/dns_name.hpp"

namespace tessera {

Result<PodName> pod_argument(const std::string& what, std::string text, const std::string& ns) {
    if (text.starts_with("pod/")) text.erase(0, 4);
    if (!is_dns_name(text)) {
        return fail(Code::invalid_argument,
                    fmt::format("{}: \"{}\" is not a valid pod name", what, text));
    }
    if (!is_dns_label(ns)) {
        return fail(Code::invalid_argument,
                    fmt::format("--namespace: \"{}\" is not a valid namespace name", ns));
    }
    return PodName{ns, std::move(text)};
}

Result<> check_pod_argument(const std::string& what, const std::string& text,
                            const std::string& ns) {
    TRY_VOID(pod_argument(what, text, ns.empty() ? "default" : ns));
    return {};
}

}  // namespace tessera
