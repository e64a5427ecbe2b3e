// Whether what pods hold of cards is held by the guard wherever it is meant to be.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement shares(const Facts& facts);

}  // namespace tessera::doctor
