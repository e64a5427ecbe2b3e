// Names of Kubernetes objects, which become parts of API paths. Source: RFC 1123 as Kubernetes
// applies it (docs "Object Names and IDs").
#pragma once

#include <string_view>

namespace tessera {

// A namespace: 1 to 63 of a-z, 0-9 and -, with no - at the ends.
bool is_dns_label(std::string_view text);

// A node or a pod: such parts, of any length, separated by dots; 253 characters in all.
bool is_dns_name(std::string_view text);

}  // namespace tessera
