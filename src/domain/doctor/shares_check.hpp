// Checks that the guard enforces the pods' GPU shares wherever it is deployed.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement shares(const Facts& facts);

}  // namespace tessera::doctor
