// The query of a URL: what follows "?".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

// A name or a value as a part of a query (RFC 3986: unreserved characters stay).
std::string encode_query(std::string_view text);

// The parameters, decoded, in the order of the query. "+" stands for a space, and a parameter
// without "=" has an empty value. What is no correct encoding stays unchanged.
std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query);

}  // namespace tessera
