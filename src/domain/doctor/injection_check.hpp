// Checks that the runtime and the CDI specifications of each node give containers their GPUs.
#pragma once

#include <string>

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement injection(const Facts& facts);

// Whether a RuntimeClass that pods name does not exist. Not for an empty name, and not without the
// right to read the RuntimeClasses.
bool is_missing_class(const Facts& facts, const std::string& name);

}  // namespace tessera::doctor
