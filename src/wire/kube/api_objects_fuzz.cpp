#include "testing/fuzz/fuzz.hpp"
#include "wire/kube/defrag_json.hpp"
#include "wire/kube/doctor_json.hpp"
#include "wire/kube/eviction_json.hpp"
#include "wire/kube/host_resources.hpp"
#include "wire/kube/lease_json.hpp"
#include "wire/kube/migration_json.hpp"
#include "wire/kube/node_rules_json.hpp"
#include "wire/kube/pod_group_json.hpp"
#include "wire/kube/published_node_json.hpp"
#include "wire/tessera/allocation_json.hpp"
#include "wire/text/json.hpp"
#include "wire/workload/cluster_facts_json.hpp"
#include "wire/workload/data_volume_json.hpp"
#include "wire/workload/scaler_json.hpp"
#include "wire/workload/serving_status_json.hpp"
#include "wire/workload/training_status_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

// Each reader returns, whatever the API server sends in place of an object.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text = fuzz_text(data, size);
    is_of_a_budget(text);
    is_of_missing_right(text);
    is_of_a_namesake(text);
    (void)eviction_refusal(text);
    (void)pod_of_allocation(text);
    const auto document = JsonDocument::parse(text);
    if (!document) return 0;
    const JsonValue root = document->root();
    (void)read_lease(root);
    (void)read_pod_group(root);
    (void)read_migration_node(root, root["spec"]);
    (void)read_migration_pod(root, "tessera-system");
    (void)read_old_plugin(root);
    (void)is_webhook_trusted(root);
    (void)has_own_scheduler(root);
    (void)write_amounts_removal(read_published_node(root).amounts);
    (void)read_doctor_node(root, root["spec"]);
    (void)read_doctor_pod(root, nullptr);
    (void)read_claim(root);
    (void)read_cluster_policy(root);
    (void)read_workload(root);
    (void)read_metrics_api(root);
    is_ready_agent(root);
    (void)workload::read_scaler(root);
    if (auto job = workload::read_serving(root)) workload::read_serving_service(root, *job);
    (void)workload::read_serving_of(root);
    if (auto job = workload::read_training_role(root)) {
        job->pods.push_back(workload::read_training_pod(root));
        workload::sort_pods(*job);
    }
    (void)workload::read_workload_pod(root);
    (void)workload::read_data_volume(root);
    (void)read_shown_node(root);
    (void)read_shown_pod(root);
    (void)read_command(root);
    (void)read_controller_flags(root);
    (void)read_pod_state(root);
    (void)read_budget(root);
    (void)read_waiting_job(root);
    (void)read_node_traits(root);
    (void)read_host_request(root["spec"]);
    (void)read_host_amounts(root["status"]);
    return 0;
}
