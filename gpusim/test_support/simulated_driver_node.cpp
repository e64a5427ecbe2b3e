// Two GPUs on which contexts cost something, as on real ones.
#include "gpusim/test_support/driver_node.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

constexpr char kGpus[] =
    "gpus:\n"
    "  - {model: Tesla T4, memory: 15360MiB, reserved: 360MiB, context_overhead: 300MiB}\n"
    "  - {model: Tesla T4, memory: 15360MiB, reserved: 360MiB, context_overhead: 300MiB}\n";

}  // namespace

struct DriverNode::Behind {
    SimulatedNode node{kGpus};
};

DriverNode::DriverNode()
    : behind_(std::make_unique<Behind>()), library_(behind_->node.library("libcuda.so.1")) {}

DriverNode::~DriverNode() = default;

}  // namespace gpusim
