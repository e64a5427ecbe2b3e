// Checks that the nodes offer NVIDIA MPS if it is on, and that no pod requests it where it is off.
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement mps(const Facts& facts);

}  // namespace tessera::doctor
