// How the launcher of an MPI job waits for its workers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Returns when each host accepts our secret. That may take hours: workers wait for GPUs. One that
// refuses it is waited for, too: DNS may still have the address of an earlier pod. `say` gets a
// line when the number of those that are missing changes, and every minute.
void wait_for_workers(std::vector<std::string> hosts, int port, std::string_view secret,
                      const std::function<void(const std::string&)>& say);

}  // namespace tessera
