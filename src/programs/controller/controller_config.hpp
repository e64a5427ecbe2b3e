// The controller's configuration, and what its components take from it.
#pragma once

#include <array>
#include <string>

#include "app/scheduler/http/access.hpp"
#include "domain/admission/pod_admission.hpp"
#include "programs/common/config.hpp"
#include "programs/common/ledger_server.hpp"
#include "programs/common/run_program.hpp"
#include "programs/controller/custom_metrics.hpp"
#include "programs/controller/leadership.hpp"
#include "programs/controller/listen_config.hpp"
#include "programs/service/service_port.hpp"

namespace tessera {

#define CONFIG_TABLE "programs/controller/controller.def"
#include "programs/common/typed_config.inc"
#undef CONFIG_TABLE

// The first fault, with the name of its row and the fix.
Result<> check_config(const ConfigValues& values);

ListenConfig listen_config_of(const Config& config);
HealthPort health_port_of(const Config& config);
// Errors are invalid_argument, and name the row.
Result<LeadershipOptions> leadership_of(const Config& config);
Result<ServicePortOptions> service_port_of(const Config& config);
AdmissionRules admission_of(const Config& config);
LedgerServer ledger_of(const Config& config);
AccessOptions access_of(const Config& config);
AccessOptions service_access_of(const Config& config, const CustomMetrics& custom_metrics);

}  // namespace tessera
