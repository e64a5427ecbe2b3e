// Names of Kubernetes' objects, which become parts of paths that are asked of the API server.
// Source: RFC 1123 as Kubernetes has it (docs "Object Names and IDs").
#pragma once

#include <string_view>

namespace tessera {

// 1 to 63 of a-z, 0-9 and -, with no - at the ends: a namespace.
bool is_dns_label(std::string_view text);

// The same between dots, 253 in all, a part of any length: a node, a pod.
bool is_dns_name(std::string_view text);

}  // namespace tessera
