// Checks that no other extender, device plugin, scheduler or DRA driver assigns the same GPUs.
#pragma once

#include <vector>

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement others(const Facts& facts);

// The program of foreign_programs.def that runs in a pod with these containers, as "NVIDIA's device
// plugin". Null if there is none.
const char* other_gpu_program(const std::vector<Program>& programs);

}  // namespace tessera::doctor
