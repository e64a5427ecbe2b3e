// Whether another extender, device plugin or DRA driver gives out the same cards.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement others(const Facts& facts);

}  // namespace tessera::doctor
