// Whether somebody else gives out the same cards: another extender, device plugin or DRA driver.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement others(const Facts& facts);

}  // namespace tessera::doctor
