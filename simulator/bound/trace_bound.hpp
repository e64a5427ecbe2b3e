// A trace's tasks and nodes as the subject of a bound.
#pragma once

#include <memory>

#include "simulator/bound/bound_subject.hpp"

namespace tessera {

std::unique_ptr<BoundSubject> trace_bound(TraceName name, Workload workload);

}  // namespace tessera
