#include "wire/mps/mps_report_json.hpp"

#include "wire/mps/mps_members.hpp"

namespace tessera {
namespace {

Result<MpsGrant> read_container(const JsonField& at) {
    TRY(MpsGrant grant, mps::read_grant(at));
    TRY(auto pod, at["pod"].text());
    grant.pod = PodUid(std::move(pod));
    TRY(grant.container, at["container"].text());
    return grant;
}

Result<MpsGpuReport> read_gpu(const JsonField& at) {
    MpsGpuReport gpu;
    TRY(gpu.state, mps::read_state(at));
    TRY(const auto multiprocessors, at["multiprocessors"].number_or_0(mps::kMostMultiprocessors));
    gpu.multiprocessors = static_cast<int>(multiprocessors);
    TRY(gpu.grants, at["containers"].each_or_none(read_container));
    return gpu;
}

Result<MpsLog> read_log(const JsonField& at) {
    MpsLog log;
    TRY(log.name, at["name"].text());
    TRY(log.text, at["text"].text_or_empty());
    return log;
}

}  // namespace

std::string write_mps_report(const MpsReport& report) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsReportVersion);
        w.member("node", report.node.str());
        w.member("offered", report.is_offered);
        w.member("supervised", report.is_supervised);
        w.array("gpus", [&] {
            for (const MpsGpuReport& gpu : report.gpus) {
                w.object([&] {
                    mps::write_state(w, gpu.state);
                    if (gpu.multiprocessors > 0)
                        w.member("multiprocessors", std::int64_t{gpu.multiprocessors});
                    w.array("containers", [&] {
                        for (const MpsGrant& grant : gpu.grants) {
                            w.object([&] {
                                w.member("pod", grant.pod.str());
                                w.member("container", grant.container);
                                mps::write_grant(w, grant);
                            });
                        }
                    });
                });
            }
        });
    });
    return w.take() + "\n";
}

Result<MpsReport> read_mps_report(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsReportVersion));
    MpsReport report;
    TRY(auto node, root["node"].text());
    report.node = NodeName(std::move(node));
    TRY(report.is_offered, root["offered"].yes_or_no());
    TRY(report.is_supervised, root["supervised"].yes_or_no());
    TRY(report.gpus, root["gpus"].each_or_none(read_gpu));
    return report;
}

std::string write_mps_logs(const MpsLogs& logs) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kMpsReportVersion);
        w.member("node", logs.node.str());
        w.array("logs", [&] {
            for (const MpsLog& log : logs.logs) {
                w.object([&] {
                    w.member("name", log.name);
                    if (!log.text.empty()) w.member("text", log.text);
                });
            }
        });
    });
    return w.take() + "\n";
}

Result<MpsLogs> read_mps_logs(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kMpsReportVersion));
    MpsLogs logs;
    TRY(auto node, root["node"].text());
    logs.node = NodeName(std::move(node));
    TRY(logs.logs, root["logs"].each_or_none(read_log));
    return logs;
}

}  // namespace tessera
