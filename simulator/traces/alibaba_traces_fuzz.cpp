#include "domain/placement/engine/node_load.hpp"
#include "simulator/traces/dlrm_csv.hpp"
#include "simulator/traces/pai_csv.hpp"
#include "testing/fuzz/fuzz.hpp"

namespace tessera {
namespace {

void check(const Result<std::vector<TraceTask>>& tasks) {
    if (!tasks) {
        FUZZ_CHECK(!tasks.error().text.empty());
        return;
    }
    for (const TraceTask& task : *tasks) {
        FUZZ_CHECK(task.pod.milli >= 0 && task.pod.milli <= kMilliPerGpu);
        FUZZ_CHECK(task.pod.gpus >= 0 && task.pod.gpus <= kMaxGpus);
        FUZZ_CHECK((task.pod.milli == 0) == (task.pod.gpus == 0));
        FUZZ_CHECK(task.pod.cpu_milli >= 0 && task.pod.lasts_s.value_or(0) >= 0 &&
                   task.instances > 0);
    }
}

}  // namespace
}  // namespace tessera

// Whatever can be read is within the engine's limits; an error names the place.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text = fuzz_text(data, size);
    check(read_dlrm_instances(text));
    check(read_pai_tasks(text));
    if (const auto nodes = read_pai_machines(text)) {
        for (const OpenbNode& node : *nodes)
            FUZZ_CHECK(node.cpu_milli >= 0 && node.gpus >= 0 && node.gpus <= kMaxGpus);
    } else {
        FUZZ_CHECK(!nodes.error().text.empty());
    }
    return 0;
}
