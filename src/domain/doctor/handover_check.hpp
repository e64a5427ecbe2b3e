// Whether each node's runtime and CDI specifications bring the GPUs into containers.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement handover(const Facts& facts);

}  // namespace tessera::doctor
