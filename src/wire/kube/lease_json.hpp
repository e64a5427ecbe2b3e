// The Kubernetes object behind a Lease. The API has no field for the holder's URL; it is in the
// annotation tessera.dev/url.
#pragma once

#include <string>
#include <string_view>

#include "domain/leadership/lease.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// Never fails: a field that is missing or of another type has the value of a new Lease.
Lease read_lease(JsonValue lease);

std::string write_lease(std::string_view name, std::string_view ns, const Lease& lease);

}  // namespace tessera
