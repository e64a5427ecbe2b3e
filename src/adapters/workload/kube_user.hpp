// The user as which the API server knows the caller, and the volumes that the caller may mount.
#pragma once

#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "domain/workload/data_volume.hpp"
#include "wire/kube/access_review_json.hpp"

namespace tessera {

struct Caller {
    ReviewedUser user;
    bool is_admin = false;  // may do everything in the whole cluster
};

// Errors as kube_call. Every user may ask.
Result<Caller> read_caller(HttpClient& http);

// The claims of a namespace, or of all if `ns` is empty, that are bound to a volume. Errors name
// the missing right.
Result<std::vector<workload::DataVolume>> read_data_volumes(HttpClient& http,
                                                            const std::string& ns);

}  // namespace tessera
