// A WebSocket to a subresource of a pod, such as pods/exec.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "adapters/http/web_socket.hpp"
#include "adapters/workload/workload_calls.hpp"

namespace tessera {

struct PodSocketRequest {
    std::string path;
    std::string ns;
    std::string_view protocols;  // those that the caller speaks, as in "v5.x, v4.x"
    ObjectKind kind;             // for the right that the user needs
    std::string_view instead;    // a command that may work if a proxy passes on no WebSocket
};

// Speaks one of the protocols. Errors: permission_denied names the right; unsupported: the API
// server speaks another protocol; unavailable, and those of the server's answer.
Result<std::unique_ptr<WebSocket>> open_pod_socket(HttpClient& http,
                                                   const PodSocketRequest& request);

}  // namespace tessera
