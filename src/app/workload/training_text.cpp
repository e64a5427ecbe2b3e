#include "app/workload/training_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "app/cli/tab_writer.hpp"
#include "app/workload/code_text.hpp"
#include "app/workload/event_text.hpp"
#include "app/workload/tensorboard_text.hpp"
#include "app/workload/training_sums.hpp"

namespace tessera {
namespace {

using workload::RoleStatus;
using workload::TrainingPod;
using workload::TrainingState;
using workload::TrainingStatus;

bool is_active(TrainingState state) {
    return state == TrainingState::pending || state == TrainingState::running;
}

// Empty for a job that runs or has succeeded.
std::string reasons_text(const TrainingStatus& job, TrainingState state) {
    std::string out;
    if (state == TrainingState::running || state == TrainingState::succeeded) return out;
    if (state == TrainingState::queuing) out += "  it is suspended until its queue admits it\n";
    for (const RoleStatus& role : job.roles) {
        if (!role.why.empty()) out += fmt::format("  job {}: {}\n", role.object, role.why);
    }
    for (const TrainingPod& one : job.pods) {
        if (one.pod.why.empty()) continue;
        out += fmt::format("  pod {}: {}{}\n", one.pod.name, one.pod.why,
                           code_hint(one.pod, job.name));
    }
    if (out.empty() && state == TrainingState::pending) out = "  its pods are being created\n";
    return out;
}

void write_pod(JsonWriter& w, const TrainingStatus& job, const TrainingPod& one,
               const WorkloadView& view) {
    const workload::Gpus gpus = requested_by(job, one);
    w.object([&] {
        w.member("ip", one.pod.ip);
        w.member("status", one.pod.status);
        w.member("name", one.pod.name);
        w.member("age", fmt::format("{}s", view.now_s - one.pod.created_s));
        w.member("node", one.pod.node);
        w.member("nodeIP", one.pod.node_ip);
        w.member("chief", is_chief(job, one));
        w.member("role", one.role);
        w.member("index", one.index);
        w.member("requestGPUs", gpus.whole);
        w.member("requestGPUMemory", gpus.memory.count);
        w.member("requestGPUCore", gpus.cores.value);
        w.member("creationTimestamp", one.pod.created_s);
        if (!one.pod.why.empty()) w.member("reason", one.pod.why);
        write_gpus(w, one.pod);
    });
}

void write_job(JsonWriter& w, const TrainingStatus& job, const WorkloadView& view) {
    const TrainingState state = state_of(job);
    w.object([&] {
        w.member("uuid", job.uid());
        w.member("name", job.name);
        w.member("namespace", job.ns);
        w.member("duration", fmt::format("{}s", duration_of(job, view.now_s)));
        w.member("status", words_of(state));
        w.member("trainer", row_of(job.type).word);
        if (job.has_tensorboard) w.member("tensorboard", tensorboard_url(job));
        const auto* chief = chief_of(job);
        w.member("chiefName", chief == nullptr ? std::string() : chief->name);
        w.array("instances", [&] {
            for (const TrainingPod& one : job.pods)
                write_pod(w, job, one, view);
        });
        w.member("priority", or_none(job.priority));
        w.member("requestGPUs", requested_gpus(job));
        w.raw_member("allocatedGPUs", tenths(allocated_gpus(job, view)));
        w.member("creationTimestamp", job.created_s);
        if (const std::string why = reasons_text(job, state); !why.empty()) w.member("reason", why);
        if (view.events != nullptr) write_events(w, *view.events);
    });
}

// "2026-07-01 09:30:00", in UTC; empty for 0.
std::string time_text(std::int64_t seconds) {
    if (seconds == 0) return {};
    return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                       std::chrono::sys_seconds(std::chrono::seconds(seconds)));
}

std::string pods_table(const TrainingStatus& job, const WorkloadView& view) {
    std::string out =
        "  NAME\tSTATUS\tAGE\tIS_CHIEF\tGPU(Requested)\tGPU(Allocated)\tNODE\t\n"
        "  ----\t------\t---\t--------\t--------------\t--------------\t----\t\n";
    for (const TrainingPod& one : job.pods) {
        const workload::Gpus gpus = requested_by(job, one);
        out += fmt::format("  {}\t{}\t{}\t{}\t{}\t{}\t{}\t\n", one.pod.name, one.pod.status,
                           age_text(view.now_s - one.pod.created_s), is_chief(job, one),
                           gpus.is_share() ? memory_text(gpus) : fmt::format("{}", gpus.whole),
                           allocated_text(one.pod), or_none(one.pod.node));
    }
    return align_tabs_and_trim(out);
}

}  // namespace

std::string training_head(const TrainingStatus& job, const WorkloadView& view) {
    return align_tabs_and_trim(fmt::format(
        "Name:\t{}\nStatus:\t{}\nNamespace:\t{}\nPriority:\t{}\nTrainer:\t{}\nDuration:\t{}\n"
        "CreateTime:\t{}\nEndTime:\t{}\n",
        job.name, words_of(state_of(job)), job.ns, or_none(job.priority), row_of(job.type).title,
        age_text(duration_of(job, view.now_s)), time_text(job.created_s),
        time_text(job.first().ended_s)));
}

std::string training_table(std::span<const TrainingStatus> jobs, const WorkloadView& view,
                           bool namespaces) {
    const bool shares = std::ranges::any_of(jobs, has_shares);
    std::string out = namespaces ? "NAMESPACE\t" : "";
    out += "NAME\tSTATUS\tTRAINER\tDURATION\tGPU(Requested)\tGPU(Allocated)\tNODE\t";
    out += shares ? "GPU_MEM\tGPU_CORE\t\n" : "\n";
    for (const TrainingStatus& job : jobs) {
        const TrainingState state = state_of(job);
        const auto* chief = chief_of(job);
        if (namespaces) out += job.ns + "\t";
        out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t", job.name, words_of(state),
                           row_of(job.type).title, age_text(duration_of(job, view.now_s)),
                           requested_gpus(job),
                           is_active(state) ? tenths(allocated_gpus(job, view)) : "N/A",
                           or_none(chief == nullptr ? std::string() : chief->node_ip));
        if (shares) {
            out += fmt::format("{}\t{}\t", memory_text(main_gpus(job)), cores_text(main_gpus(job)));
        }
        out += "\n";
    }
    return align_tabs_and_trim(out);
}

std::string training_text(const TrainingStatus& job, const WorkloadView& view) {
    const TrainingState state = state_of(job);
    std::string out = training_head(job, view);
    out += "\nInstances:\n" + pods_table(job, view);
    out += tensorboard_text(job);
    if (const std::string reasons = reasons_text(job, state); !reasons.empty()) {
        out += state == TrainingState::failed ? "\nWhy it failed:\n" : "\nWhy it waits:\n";
        out += reasons;
    }
    if (view.events != nullptr) out += events_text(*view.events, view.now_s);
    return out;
}

std::string training_list_json(std::span<const TrainingStatus> jobs, const WorkloadView& view) {
    JsonWriter w;
    w.array([&] {
        for (const TrainingStatus& job : jobs)
            write_job(w, job, view);
    });
    return w.take();
}

std::string training_json(const TrainingStatus& job, const WorkloadView& view) {
    JsonWriter w;
    write_job(w, job, view);
    return w.take();
}

}  // namespace tessera
