#include "app/workload/serving_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/cli/tab_writer.hpp"
#include "app/workload/event_text.hpp"
#include "base/ascii.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

using workload::ServicePort;
using workload::ServingStatus;
using workload::WorkloadPod;

struct PortName {
    std::string_view name;  // of the Service's port
    std::string_view title;
};
constexpr auto kPortNames = std::to_array<PortName>({{workload::kGrpcPort, "GRPC"},
                                                     {workload::kRestPort, "RESTFUL"},
                                                     {workload::kMetricsPort, "METRICS"}});

std::string_view title_of(const ServicePort& port) {
    const auto row = std::ranges::find(kPortNames, port.name, &PortName::name);
    return row == kPortNames.end() ? std::string_view(port.name) : row->title;
}

std::string ports_text(const ServingStatus& job) {
    std::string out;
    for (const ServicePort& port : job.ports) {
        out += fmt::format("{}{}:{}", out.empty() ? "" : ",", title_of(port),
                           port.node_port == 0 ? fmt::format("{}", port.port)
                                               : fmt::format("{}->{}", port.node_port, port.port));
    }
    return out.empty() ? "N/A" : out;
}

double gpus_of(const ServingStatus& job, const WorkloadView& view) {
    double sum = 0;
    for (const WorkloadPod& pod : job.pods)
        sum += gpus_in_use(pod, view);
    return sum;
}

bool has_gpus(const ServingStatus& job) {
    return job.gpus.whole > 0 || job.gpus.is_share();
}

// "ADDRESS(30%)" of a job that shares traffic; N/A if it gets none.
std::string address_text(const ServingStatus& job) {
    if (!job.traffic) return or_none(job.address);
    if (!job.traffic->takes_part || job.address.empty()) return "N/A";
    return fmt::format("{}({}%)", job.address, job.traffic->percent);
}

// A quantity of the API server, which has thousandths as "61500m", with a point.
std::string decimal(const std::string& quantity) {
    const bool is_milli = quantity.ends_with('m');
    const auto number = parse_digits(
        std::string_view(quantity).substr(0, quantity.size() - (is_milli ? 1 : 0)), 999'999'999);
    if (!is_milli || !number) return quantity;
    return fmt::format("{:.1f}", static_cast<double>(*number) / 1'000);
}

// "1-4"
std::string bounds_text(const ServingStatus& job) {
    return job.scaling ? fmt::format("{}-{}", job.scaling->least, job.scaling->most) : "N/A";
}

// What splits the traffic: "httproute/half".
std::string split_object(const ServingStatus& job) {
    return fmt::format("{}/{}", job.traffic->by_route ? "httproute" : "service", job.id.name);
}

std::string traffic_text(const ServingStatus& job) {
    if (!job.traffic) return {};
    const workload::TrafficPart& part = *job.traffic;
    std::string out = fmt::format("Traffic:\t{}% of {} ({})", part.percent, split_object(job),
                                  part.address.empty() ? "every host" : part.address);
    if (!part.why.empty()) out += "; " + part.why;
    return out + "\n";
}

void write_traffic(JsonWriter& w, const ServingStatus& job) {
    if (!job.traffic) return;
    w.object("traffic", [&] {
        w.member("object", split_object(job));
        w.member("address", job.traffic->address);
        w.member("takesPart", job.traffic->takes_part);
        w.member("percent", job.traffic->percent);
        if (!job.traffic->why.empty()) w.member("reason", job.traffic->why);
    });
}

// "tessera_gpu_compute_use 95/60": the average, and the target.
std::string targets_text(const workload::ScalingStatus& scaling) {
    std::string out;
    for (const workload::ScalingMetric& metric : scaling.metrics) {
        out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", metric.name,
                           metric.current.empty() ? "unknown" : decimal(metric.current),
                           decimal(metric.target));
    }
    return out.empty() ? "N/A" : out;
}

std::string scaling_text(const ServingStatus& job) {
    if (!job.scaling) return {};
    const workload::ScalingStatus& scaling = *job.scaling;
    std::string out = fmt::format("Autoscaling:\t{} to {} pods; {}\n", scaling.least, scaling.most,
                                  targets_text(scaling));
    if (!scaling.why.empty()) out += fmt::format("Not scaled:\t{}\n", scaling.why);
    return out;
}

void write_scaling(JsonWriter& w, const ServingStatus& job) {
    if (!job.scaling) return;
    w.object("autoscaling", [&] {
        w.member("minInstances", job.scaling->least);
        w.member("maxInstances", job.scaling->most);
        w.member("desiredInstances", job.scaling->desired);
        w.array("metrics", [&] {
            for (const workload::ScalingMetric& metric : job.scaling->metrics) {
                w.object([&] {
                    w.member("name", metric.name);
                    w.member("target", metric.target);
                    if (!metric.current.empty()) w.member("current", metric.current);
                });
            }
        });
        if (!job.scaling->why.empty()) w.member("reason", job.scaling->why);
    });
}

// Empty if it has all its pods.
std::string reasons_text(const ServingStatus& job) {
    if (job.available >= job.desired) return {};
    std::string out;
    if (!job.why.empty()) out += fmt::format("  deployment {}: {}\n", job.object, job.why);
    for (const WorkloadPod& pod : job.pods) {
        if (!pod.why.empty()) out += fmt::format("  pod {}: {}\n", pod.name, pod.why);
    }
    return out.empty() ? "  the pods are being created\n" : out;
}

void write_pod(JsonWriter& w, const ServingStatus& job, const WorkloadPod& pod,
               const WorkloadView& view) {
    w.object([&] {
        w.member("name", pod.name);
        w.member("status", pod.status);
        w.member("age", fmt::format("{}s", view.now_s - pod.created_s));
        w.member("readyContainers", pod.ready);
        w.member("totalContainers", pod.containers);
        w.member("restartCount", pod.restarts);
        w.member("nodeIP", pod.node_ip);
        w.member("nodeName", pod.node);
        w.member("ip", pod.ip);
        w.member("requestGPUs", job.gpus.whole);
        w.member("requestGPUMemory", job.gpus.memory.count);
        w.member("requestGPUCore", job.gpus.cores.value);
        w.member("creationTimestamp", pod.created_s);
        if (!pod.why.empty()) w.member("reason", pod.why);
        write_gpus(w, pod);
    });
}

void write_job(JsonWriter& w, const ServingStatus& job, const WorkloadView& view) {
    w.object([&] {
        w.member("uuid", job.uid);
        w.member("name", job.id.name);
        w.member("namespace", job.ns);
        w.member("type", row_of(job.id.type).word);
        w.member("version", job.id.version);
        w.member("age", fmt::format("{}s", view.now_s - job.created_s));
        w.member("desiredInstances", job.desired);
        w.member("availableInstances", job.available);
        w.array("endpoints", [&] {
            for (const ServicePort& port : job.ports) {
                w.object([&] {
                    w.member("name", title_of(port));
                    w.member("port", port.port);
                    w.member("nodePort", port.node_port);
                });
            }
        });
        w.member("ip", job.address);
        write_traffic(w, job);
        write_scaling(w, job);
        w.array("instances", [&] {
            for (const WorkloadPod& pod : job.pods)
                write_pod(w, job, pod, view);
        });
        w.member("requestGPUs", job.gpus.whole);
        w.member("requestGPUMemory", job.gpus.memory.count);
        w.member("requestGPUCore", job.gpus.cores.value);
        w.member("creationTimestamp", job.created_s);
        if (!job.why.empty()) w.member("reason", job.why);
        if (view.events != nullptr) write_events(w, *view.events);
    });
}

}  // namespace

std::string serving_table(std::span<const ServingStatus> jobs, const WorkloadView& view,
                          bool namespaces) {
    const bool gpus = std::ranges::any_of(jobs, has_gpus);
    const bool scaling =
        std::ranges::any_of(jobs, [](const ServingStatus& job) { return job.scaling.has_value(); });
    std::string out = namespaces ? "NAMESPACE\t" : "";
    out += "NAME\tTYPE\tVERSION\tDESIRED\tAVAILABLE\tADDRESS\tPORTS\t";
    if (gpus) out += "GPU\tGPU_MEM\tGPU_CORE\t";
    out += scaling ? "SCALE\t\n" : "\n";
    for (const ServingStatus& job : jobs) {
        if (namespaces) out += job.ns + "\t";
        out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t", job.id.name, row_of(job.id.type).title,
                           or_none(job.id.version), job.desired, job.available, address_text(job),
                           ports_text(job));
        if (gpus) {
            out += fmt::format("{}\t{}\t{}\t", tenths(gpus_of(job, view)), memory_text(job.gpus),
                               cores_text(job.gpus));
        }
        if (scaling) out += bounds_text(job) + "\t";
        out += "\n";
    }
    return align_tabs_and_trim(out);
}

std::string serving_text(const ServingStatus& job, const WorkloadView& view) {
    std::string out = fmt::format(
        "Name:\t{}\nNamespace:\t{}\nType:\t{}\nVersion:\t{}\nDesired:\t{}\nAvailable:\t{}\n"
        "Age:\t{}\nAddress:\t{}\nPort:\t{}\n",
        job.id.name, job.ns, row_of(job.id.type).title, or_none(job.id.version), job.desired,
        job.available, age_text(view.now_s - job.created_s), address_text(job), ports_text(job));
    out += traffic_text(job);
    out += scaling_text(job);
    if (has_gpus(job)) {
        out += fmt::format("GPU:\t{}\nGPU Memory:\t{}\nGPU Core:\t{}\n", tenths(gpus_of(job, view)),
                           memory_text(job.gpus), cores_text(job.gpus));
    }
    out = align_tabs_and_trim(out) + "\nInstances:\n";
    std::string pods =
        "  NAME\tSTATUS\tAGE\tREADY\tRESTARTS\tGPU\tNODE\t\n"
        "  ----\t------\t---\t-----\t--------\t---\t----\t\n";
    for (const WorkloadPod& pod : job.pods) {
        pods += fmt::format("  {}\t{}\t{}\t{}/{}\t{}\t{}\t{}\t\n", pod.name, pod.status,
                            age_text(view.now_s - pod.created_s), pod.ready, pod.containers,
                            pod.restarts, allocated_text(pod), or_none(pod.node));
    }
    out += align_tabs_and_trim(pods);
    if (const std::string reasons = reasons_text(job); !reasons.empty())
        out += "\nWhy it waits:\n" + reasons;
    if (view.events != nullptr) out += events_text(*view.events, view.now_s);
    return out;
}

std::string serving_choice_table(std::span<const ServingStatus> jobs) {
    std::string out = "NAME\tTYPE\tVERSION\t\n";
    for (const ServingStatus& job : jobs) {
        out += fmt::format("{}\t{}\t{}\t\n", job.id.name, row_of(job.id.type).word,
                           or_none(job.id.version));
    }
    out = align_tabs_and_trim(out);
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

std::string serving_list_json(std::span<const ServingStatus> jobs, const WorkloadView& view) {
    JsonWriter w;
    w.array([&] {
        for (const ServingStatus& job : jobs)
            write_job(w, job, view);
    });
    return w.take();
}

std::string serving_json(const ServingStatus& job, const WorkloadView& view) {
    JsonWriter w;
    write_job(w, job, view);
    return w.take();
}

}  // namespace tessera
