// Lists of the API server, read page by page.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "adapters/http/http.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The item is valid only during the call.
using ReadItem = std::function<void(JsonValue item)>;
using FetchPage = std::function<Result<JsonDocument>(const std::string& path)>;

// The time limit for one page of a list, which has megabytes.
inline constexpr std::chrono::milliseconds kPageDeadline{30'000};

// Appends a parameter to a path that may have a query already.
std::string with_query(const std::string& path, std::string_view parameter);

// Calls `read` with each item of the list at `path`. Returns the list's resource version. Errors:
// those of `fetch`, or the answer is no list.
Result<std::string> each_item(const FetchPage& fetch, const std::string& path,
                              const ReadItem& read);
// The same, fetched from the API server. permission_denied says that the user needs the permission
// to `right`; other errors as kube_call.
Result<> each_item(HttpClient& http, const std::string& path, const char* right,
                   const ReadItem& read);
// All nodes and then all pods, as each_item. In this order the node of every pod is known, unless
// the node was removed in between.
Result<> each_node_and_pod(HttpClient& http, const ReadItem& read_node, const ReadItem& read_pod);

}  // namespace tessera
