#include "testing/fuzz/fuzz.hpp"
#include "wire/workload/traffic_split_json.hpp"

// For any object that an API server may send, the change of a split is valid JSON.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    if (!document) return 0;
    (void)workload::read_gateway(document->root());
    if (const auto route = workload::read_route(document->root())) {
        FUZZ_CHECK(JsonDocument::parse(workload::write_route(*route)));
        FUZZ_CHECK(JsonDocument::parse(workload::write_route_change(*route, *route)));
        std::vector<workload::ServingStatus> jobs(1);
        workload::set_traffic(jobs, &*route, "");
        FUZZ_CHECK(jobs.front().traffic->percent >= 0 && jobs.front().traffic->percent <= 100);
    }
    if (const auto service = workload::read_shared_service(document->root())) {
        const workload::SharedService same{
            service->ns, service->name, {}, service->owners, service->weights};
        FUZZ_CHECK(JsonDocument::parse(workload::write_shared_service_change(*service, same)));
    }
    return 0;
}
