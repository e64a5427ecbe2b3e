// A trace's tasks and nodes as a bound takes them.
#pragma once

#include <memory>

#include "app/sim/bound_subject.hpp"

namespace tessera {

std::unique_ptr<BoundSubject> trace_bound(TraceName name, Workload workload);

}  // namespace tessera
