// The cluster's events about the objects of a job.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "domain/workload/object_event.hpp"

namespace tessera {

// The events of these objects, by their uids, oldest first. Reads all events of the namespace: the
// API server has no index of them. permission_denied without the right to list events.
Result<std::vector<workload::ObjectEvent>> read_object_events(HttpClient& http,
                                                              const std::string& ns,
                                                              const std::set<std::string>& uids);

}  // namespace tessera
