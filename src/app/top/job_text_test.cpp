#include "app/top/job_text.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

using workload::TrainingPod;
using workload::TrainingStatus;
using workload::TrainingType;

constexpr std::int64_t kNow = 1'782'898'200;  // 2026-07-01 09:30:00

TrainingPod pod(const std::string& name, int index, std::vector<GpuShare> gpus) {
    TrainingPod out;
    out.pod = {.uid = PodUid("uid-" + name),
               .name = name,
               .phase = "Running",
               .status = "Running",
               .why = ""};
    out.pod.node = "gpu-b";
    out.pod.node_ip = "10.0.0.22";
    out.pod.gpus = std::move(gpus);
    out.role = "worker";
    out.index = index;
    return out;
}

GpuShare share(int gpu, int gib, bool whole) {
    return {GpuUuid("GPU-gpu-b-" + std::to_string(gpu)), gpu, gibibytes(gib), {}, whole};
}

TrainingStatus job(const std::string& name, workload::Gpus gpus, int replicas) {
    TrainingStatus out;
    out.name = name;
    out.ns = "default";
    out.type = TrainingType::tensorflow;
    out.created_s = kNow - 900;
    out.roles = {{.role = "worker",
                  .object = name + "-worker",
                  .replicas = replicas,
                  .gpus = gpus,
                  .why = "",
                  .started_s = kNow - 900}};
    return out;
}

std::vector<TrainingStatus> jobs() {
    TrainingStatus shared = job("shared", {.memory = gibibytes(4)}, 2);
    shared.pods = {pod("shared-0", 0, {share(0, 4, false)}), pod("shared-1", 1, {})};
    TrainingStatus whole = job("whole", {.whole = 2}, 1);
    whole.pods = {pod("whole-0", 0, {share(2, 16, true), share(3, 16, true)})};
    return {shared, whole};
}

// Goal: Arena's columns (docs/research/arena.md §4.2), those with most GPUs first, and sums in
// which shares are memory.
TEST(TopJob, Table) {
    const std::vector nodes{build::node("gpu-b", 4, gibibytes(16))};
    EXPECT_EQ(
        job_table(jobs(), {nodes, kNow}, false),
        R"(NAME    STATUS   TRAINER  AGE  GPU(Requested)  GPU(Allocated)  NODE       GPU_MEM  GPU_CORE
whole   RUNNING  TFJOB    15m  2               2               10.0.0.22  N/A      N/A
shared  RUNNING  TFJOB    15m  0               0.3             10.0.0.22  4Gi      N/A

Total Allocated/Requested GPUs of Training Jobs: 2/2
Total Allocated/Requested GPU Memory of Shares of Training Jobs: 4.0/8.0 GiB
)");
    EXPECT_TRUE(job_table({}, {nodes, kNow}, true).starts_with("NAMESPACE  NAME  STATUS"));
}

// Goal: one line for each GPU of a pod, with what the agents report of the pod's own share.
TEST(TopJob, Details) {
    const std::vector nodes{build::node("gpu-b", 4, gibibytes(16))};
    ShareLine line;
    line.use.gpu = GpuUuid("GPU-gpu-b-0");
    line.use.pod = PodUid("uid-shared-0");
    line.use.used = gibibytes(3);
    line.time = 98;
    ShareLine other = line;
    other.use.pod = PodUid("another");
    const std::vector uses{line, other};
    const auto all = jobs();
    const std::string shared = job_details(all[0], {nodes, kNow}, uses);
    EXPECT_NE(shared.find(R"(
Instances:
  NAME      STATUS   GPU(Request)  NODE   GPU(DeviceIndex)  GPU(DutyCycle)  GPU_MEMORY(Used/Total)
  ----      ------   ------------  ----   ----------------  --------------  ----------------------
  shared-0  Running  4Gi           gpu-b  0                 98.0%           3072.0/4096.0(MiB)
  shared-1  Running  4Gi           gpu-b  N/A               N/A             N/A

GPUs:
  Allocated/Requested GPU Memory of Job: 4.0/8.0 GiB
)"),
              std::string::npos)
        << shared;
    const std::string whole = job_details(all[1], {nodes, kNow}, {});
    EXPECT_NE(whole.find(R"(
  whole-0  Running  2             gpu-b  2                 N/A             N/A
                                         3                 N/A             N/A

GPUs:
  Allocated/Requested GPUs of Job: 2/2
)"),
              std::string::npos)
        << whole;
}

}  // namespace
}  // namespace tessera
