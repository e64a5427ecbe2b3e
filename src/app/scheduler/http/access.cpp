#include "app/scheduler/http/access.hpp"

#include <utility>

#include "app/scheduler/http/route_table.hpp"

namespace tessera {
Access::Access(AccessReview& review, Clock& clock, AccessOptions options)
    : tokens_(review, clock), options_(std::move(options)) {}

std::optional<RouteAnswer> Access::refuse(const RequestHead& head) {
    switch (requirement_of(head.method, head.path)) {
        case AuthRequirement::nothing:
            return std::nullopt;
        case AuthRequirement::certificate:
            // A port with a front proxy knows no certificates but those for it.
            if (!options_.certificates || (head.has_certificate && !options_.is_front_proxy))
                return std::nullopt;
            return plain_answer(
                403, "this needs a client certificate that client_ca_file vouches for\n");
        case AuthRequirement::admission:
            if (options_.admissions) return std::nullopt;
            return plain_answer(403, "the admission webhook is served on service_port only\n");
        case AuthRequirement::front_proxy:
            return refuse_proxy(head);
        case AuthRequirement::token:
            if (options_.open_reads) return std::nullopt;
            return tokens_.refuse(head.token, AccessVerb::get,
                                  find_route(without_slash(head.path))->path);
    }
    return plain_answer(403, "");
}

std::optional<RouteAnswer> Access::refuse_proxy(const RequestHead& head) const {
    if (!options_.is_front_proxy) {
        return plain_answer(403,
                            "the custom metrics API is served on service_port only, and if on\n");
    }
    if (head.has_certificate && options_.is_front_proxy(head.certificate_name)) return std::nullopt;
    return plain_answer(
        403,
        "this needs the certificate of the API server's aggregation layer; use kubectl "
        "get --raw\n");
}

}  // namespace tessera
