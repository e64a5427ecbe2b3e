// Lists of the API server, page after page.
#pragma once

#include <functional>
#include <string>

#include "adapters/http/http.hpp"
#include "wire/json.hpp"

namespace tessera {

// Its value lives no longer than the call.
using ReadItem = std::function<void(JsonValue item)>;
using FetchPage = std::function<Result<JsonDocument>(const std::string& path)>;

// Calls `read` with each item of the list at `path`. Errors: those of `fetch`, or of a list that
// is none.
Result<> each_item(const FetchPage& fetch, const std::string& path, const ReadItem& read);
// The same of what the server says. permission_denied says that one needs the right to `right`;
// other errors as kube_call.
Result<> each_item(HttpClient& http, const std::string& path, const char* right,
                   const ReadItem& read);

}  // namespace tessera
