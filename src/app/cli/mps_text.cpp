#include "app/cli/mps_text.hpp"

#include <fmt/format.h>

#include "app/cli/tab_writer.hpp"
#include "base/printable.hpp"
#include "wire/mps/mps_folder_json.hpp"
#include "wire/mps/mps_report_json.hpp"

namespace tessera {
namespace {

std::string row_of(const MpsReport& node, const MpsGpuReport& gpu) {
    const MpsState& state = gpu.state;
    std::string out =
        fmt::format("{}\t{}\t{}\t{}\t\t{}\t{}\t{}\n", node.node.str(), state.gpu.str(),
                    mps_phase_name(state.phase), state.pid, state.settings.threads.value,
                    rounded_down(state.settings.memory), client_count(state));
    for (const MpsGrant& grant : gpu.grants) {
        const bool has_name = !grant.name.name.empty();
        out += fmt::format("\t\t\t\t{} {}\t{}\t{}\t{}\n",
                           has_name ? grant.name.str() : grant.pod.str(), grant.container,
                           grant.threads.value, rounded_down(grant.memory),
                           client_count(state, grant.pod));
    }
    return out;
}

}  // namespace

std::string mps_table(std::span<const MpsReport> nodes) {
    std::string rows;
    std::size_t offering = 0;
    for (const MpsReport& node : nodes) {
        offering += node.is_offered ? 1 : 0;
        for (const MpsGpuReport& gpu : node.gpus)
            rows += row_of(node, gpu);
    }
    if (offering == 0) return "No node offers NVIDIA MPS (mps.enabled of the Helm chart).\n";
    if (rows.empty()) {
        return fmt::format("NVIDIA MPS is offered by {} node(s), and no GPU uses it now.\n",
                           offering);
    }
    return align_tabs_and_trim("NODE\tGPU\tDAEMON\tPID\tCONTAINER\tTHREADS%\tMEMORY\tCLIENTS\n" +
                               rows);
}

std::string mps_json(std::span<const MpsReport> nodes) {
    std::string out = "{\"nodes\":[";
    for (const MpsReport& node : nodes) {
        if (!out.ends_with('[')) out += ",";
        std::string one = write_mps_report(node);
        one.pop_back();  // the end of the line
        out += one;
    }
    return out + "]}";
}

std::string mps_faults(std::span<const MpsReport> nodes) {
    std::string out;
    for (const MpsReport& node : nodes) {
        if (node.is_offered && !node.is_supervised) {
            out += fmt::format("{}: tessera-mps does not run; look at the pod of its DaemonSet\n",
                               node.node.str());
        }
        for (const MpsGpuReport& gpu : node.gpus) {
            if (gpu.state.reason.empty()) continue;
            out +=
                fmt::format("{}: {}: {}\n", node.node.str(), gpu.state.gpu.str(), gpu.state.reason);
        }
    }
    return out;
}

std::string for_terminal(std::string_view text, std::size_t most) {
    return printable(std::string(text.substr(0, most)));
}

std::string mps_logs_text(const MpsLogs& logs, std::size_t lines) {
    std::string out;
    for (const MpsLog& log : logs.logs) {
        std::string_view text = log.text;
        std::size_t begin = text.size();
        // The line end of the last line is not between two lines.
        for (std::size_t left = lines; left > 0 && begin > 0; --left) {
            const std::size_t end =
                begin > 1 ? text.rfind('\n', begin - 2) : std::string_view::npos;
            begin = end == std::string_view::npos ? 0 : end + 1;
        }
        text.remove_prefix(begin);
        if (logs.logs.size() > 1) out += fmt::format("==> {} <==\n", for_terminal(log.name, 100));
        out += for_terminal(text, text.size());
        if (!text.empty() && !text.ends_with('\n')) out += "\n";
    }
    return out;
}

}  // namespace tessera
