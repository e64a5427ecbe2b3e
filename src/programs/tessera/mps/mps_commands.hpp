// The commands below `tessera mps`, each in its own file, and what they share.
#pragma once

#include <vector>

#include "adapters/http/http.hpp"
#include "domain/mps/mps_report.hpp"
#include "programs/common/commands.hpp"

namespace tessera {

// What the agents know of MPS. Those that do not answer are named on stderr.
struct MpsAnswers {
    std::vector<MpsReport> nodes;
    bool is_complete = true;  // every agent answered
};

// Of all agents, or of that on `node`. not_found if there is none.
Result<MpsAnswers> query_mps(HttpClient& api, const std::string& ns, const NodeName& node = {});

CommandRow mps_verify_command();
CommandRow mps_logs_command();

}  // namespace tessera
