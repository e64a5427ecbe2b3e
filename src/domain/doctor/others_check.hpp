// Checks that no other extender, device plugin or DRA driver assigns the same GPUs.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement others(const Facts& facts);

}  // namespace tessera::doctor
