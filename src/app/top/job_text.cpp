#include "app/top/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/cli/tab_writer.hpp"
#include "app/top/gpu_uses.hpp"
#include "app/top/node_text.hpp"
#include "app/workload/training_sums.hpp"
#include "app/workload/training_text.hpp"

namespace tessera {
namespace {

using workload::TrainingPod;
using workload::TrainingState;
using workload::TrainingStatus;

struct Line {
    const TrainingStatus* job;
    double allocated;  // GPUs
};

std::vector<Line> lines_of(std::span<const TrainingStatus> jobs, const WorkloadView& view) {
    std::vector<Line> lines;
    lines.reserve(jobs.size());
    for (const TrainingStatus& job : jobs)
        lines.push_back({&job, allocated_gpus(job, view)});
    std::ranges::stable_sort(lines, std::greater{}, &Line::allocated);
    return lines;
}

std::string sums_of(std::span<const Line> lines) {
    double allocated = 0;
    int requested = 0;
    Bytes memory;
    Bytes requested_shares;
    for (const Line& line : lines) {
        if (state_of(*line.job) != TrainingState::running) continue;
        if (has_shares(*line.job)) {
            memory += allocated_memory(*line.job);
            requested_shares += requested_memory(*line.job);
        } else {
            allocated += line.allocated;
            requested += requested_gpus(*line.job);
        }
    }
    std::string out = fmt::format("\nTotal Allocated/Requested GPUs of Training Jobs: {}/{}\n",
                                  tenths(allocated), requested);
    if (requested_shares.count > 0) {
        out += fmt::format(
            "Total Allocated/Requested GPU Memory of Shares of Training Jobs: {}/{} GiB\n",
            gib_text(memory), gib_text(requested_shares));
    }
    return out;
}

// "15641.0/16384.0(MiB)"
std::string mib_text(Bytes used, Bytes total) {
    const auto mib = [](Bytes memory) { return static_cast<double>(memory.count) / kMiB; };
    return fmt::format("{:.1f}/{:.1f}(MiB)", mib(used), mib(total));
}

// The columns of one GPU of a pod.
std::string gpu_columns(const TrainingPod& one, const GpuShare& share,
                        std::span<const ShareLine> uses) {
    const GpuUses used = uses_of(share.uuid, one.pod.uid, uses);
    return fmt::format("{}\t{}\t{}\t\n", share.index,
                       used.time ? fmt::format("{:.1f}%", static_cast<double>(*used.time)) : "N/A",
                       used.is_known ? mib_text(used.memory, share.memory) : "N/A");
}

// The columns of the pod's GPUs, a line each; lines after the first begin with `indent`.
std::string gpu_cells(const TrainingPod& one, std::span<const ShareLine> uses,
                      std::string_view indent) {
    if (one.pod.gpus.empty()) return "N/A\tN/A\tN/A\t\n";
    std::string out;
    for (const GpuShare& share : one.pod.gpus) {
        if (&share != &one.pod.gpus.front()) out += indent;
        out += gpu_columns(one, share, uses);
    }
    return out;
}

std::string request_text(const TrainingStatus& job, const TrainingPod& one) {
    const workload::Gpus gpus = requested_by(job, one);
    return gpus.is_share() ? memory_text(gpus) : fmt::format("{}", gpus.whole);
}

std::string pods_table(const TrainingStatus& job, std::span<const ShareLine> uses) {
    std::string out =
        "  NAME\tSTATUS\tGPU(Request)\tNODE\tGPU(DeviceIndex)\tGPU(DutyCycle)\t"
        "GPU_MEMORY(Used/Total)\t\n"
        "  ----\t------\t------------\t----\t----------------\t--------------\t"
        "----------------------\t\n";
    for (const TrainingPod& one : job.pods) {
        out += fmt::format("  {}\t{}\t{}\t{}\t", one.pod.name, one.pod.status,
                           request_text(job, one), or_none(one.pod.node));
        out += gpu_cells(one, uses, "  \t\t\t\t");
    }
    return align_tabs_and_trim(out);
}

std::string sums_of(const TrainingStatus& job, const WorkloadView& view) {
    if (has_shares(job)) {
        return fmt::format("  Allocated/Requested GPU Memory of Job: {}/{} GiB\n",
                           gib_text(allocated_memory(job)), gib_text(requested_memory(job)));
    }
    return fmt::format("  Allocated/Requested GPUs of Job: {}/{}\n",
                       tenths(allocated_gpus(job, view)), requested_gpus(job));
}

}  // namespace

std::string job_table(std::span<const TrainingStatus> jobs, const WorkloadView& view,
                      bool namespaces) {
    const bool shares = std::ranges::any_of(jobs, has_shares);
    const auto lines = lines_of(jobs, view);
    std::string out = namespaces ? "NAMESPACE\t" : "";
    out += "NAME\tSTATUS\tTRAINER\tAGE\tGPU(Requested)\tGPU(Allocated)\tNODE\t";
    out += shares ? "GPU_MEM\tGPU_CORE\t\n" : "\n";
    for (const Line& line : lines) {
        const TrainingStatus& job = *line.job;
        const auto* chief = chief_of(job);
        if (namespaces) out += job.ns + "\t";
        out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t", job.name, words_of(state_of(job)),
                           row_of(job.type).title, age_text(view.now_s - job.created_s),
                           requested_gpus(job), tenths(line.allocated),
                           or_none(chief == nullptr ? std::string() : chief->node_ip));
        if (shares) {
            out += fmt::format("{}\t{}\t", memory_text(main_gpus(job)), cores_text(main_gpus(job)));
        }
        out += "\n";
    }
    return align_tabs_and_trim(out) + sums_of(lines);
}

std::string job_details(const TrainingStatus& job, const WorkloadView& view,
                        std::span<const ShareLine> uses) {
    return training_head(job, view) + "\nInstances:\n" + pods_table(job, uses) + "\nGPUs:\n" +
           sums_of(job, view);
}

std::string job_gpus(const TrainingStatus& job, const WorkloadView& view,
                     std::span<const ShareLine> uses) {
    std::string rows =
        "  INSTANCE\tNODE(IP)\tGPU(Requested)\tGPU(IndexId)\tGPU(DutyCycle)\t"
        "GPU Memory(Used/Total)\t\n"
        "  --------\t--------\t--------------\t------------\t--------------\t"
        "----------------------\t\n";
    for (const TrainingPod& one : job.pods) {
        rows += fmt::format("  {}\t{}\t{}\t", one.pod.name, or_none(one.pod.node_ip),
                            request_text(job, one));
        rows += gpu_cells(one, uses, "  \t\t\t");
    }
    return "\nGPUs:\n" + align_tabs_and_trim(rows) + "\n" + sums_of(job, view);
}

}  // namespace tessera
