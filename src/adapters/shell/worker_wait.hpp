// How the launcher of an MPI job waits for its workers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Returns when each host accepts our secret. That may take hours: workers wait for GPUs. `say` gets
// a line when the number of those that are missing changes, and every minute. permission_denied if
// one has another secret.
Result<> wait_for_workers(std::vector<std::string> hosts, int port, std::string_view secret,
                          const std::function<void(const std::string&)>& say);

}  // namespace tessera
