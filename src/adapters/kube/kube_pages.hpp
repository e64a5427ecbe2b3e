// Lists of the API server, page after page.
#pragma once

#include <functional>
#include <string>

#include "adapters/http/http.hpp"
#include "wire/json.hpp"

namespace tessera {

// Calls `read` with each item of the list at `path`, whose value lives no longer than that call.
// permission_denied says that one needs the right to `right`; other errors as kube_call.
Result<> each_item(HttpClient& http, const std::string& path, const char* right,
                   const std::function<void(JsonValue item)>& read);

}  // namespace tessera
