// Checks that the runtime and the CDI specifications of each node give containers their GPUs.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement injection(const Facts& facts);

}  // namespace tessera::doctor
