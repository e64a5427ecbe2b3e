// The Kubernetes object behind a Lease. The holder's URL, for which the API has no field, stands in
// the annotation tessera.dev/url.
#pragma once

#include <string>
#include <string_view>

#include "domain/leadership/lease.hpp"
#include "wire/json.hpp"

namespace tessera {

// Never fails: what is missing or of another type is as in a new Lease.
Lease read_lease(JsonValue lease);

std::string write_lease(std::string_view name, std::string_view space, const Lease& lease);

}  // namespace tessera
