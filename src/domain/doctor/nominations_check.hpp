// Checks that pods are nominated ahead of their turn, if the controller is configured to do so
// (docs/decisions/0019-nomination-ahead.md).
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement nominations(const Facts& facts);

}  // namespace tessera::doctor
