#include "testing/fuzz/fuzz.hpp"
#include "wire/workload/object_event_json.hpp"
#include "wire/workload/serving_status_json.hpp"
#include "wire/workload/training_status_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

// Any object that an API server may send is read, and numbers of it have legal values.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    if (!document) return 0;
    const JsonValue object = document->root();
    const workload::ObjectEvent event = workload::read_object_event(object);
    FUZZ_CHECK(event.count >= 1);
    FUZZ_CHECK(event.message.find('\n') == std::string::npos);
    const workload::WorkloadPod pod = workload::read_workload_pod(object);
    FUZZ_CHECK(pod.ready >= 0 && pod.restarts >= 0);
    FUZZ_CHECK(workload::read_training_pod(object).index >= 0);
    if (auto serving = workload::read_serving(object)) {
        workload::read_serving_service(object, *serving);
        FUZZ_CHECK(serving->desired >= 0 && serving->available >= 0);
    }
    if (auto training = workload::read_training_role(object)) {
        FUZZ_CHECK(training->roles.size() == 1 && training->first().replicas >= 0);
        (void)workload::state_of(*training);
        (void)workload::duration_of(*training, 0);
        workload::sort_pods(*training);
    }
    if (auto training = workload::read_training_runtime(object)) {
        FUZZ_CHECK(training->roles.size() == 1 && training->first().replicas >= 0);
        workload::read_train_job(object, *training);
        (void)workload::state_of(*training);
    }
    return 0;
}
