// The init containers of a pod, as the API server shows them. Sidecars, which run beside the
// others, do not count once they have started.
#pragma once

#include <string>

#include "wire/text/json.hpp"

namespace tessera::workload {

// The init container for which the others wait, because it waits, runs or has failed. Empty: none.
std::string read_waiting_init(JsonValue pod);
// As in kubectl's column STATUS: Init:0/1, Init:Error. Empty without such an init container.
std::string read_init_status(JsonValue pod);
// Whether the init container of this status has done its work.
bool is_init_done(JsonValue container);

}  // namespace tessera::workload
