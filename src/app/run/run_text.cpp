#include "app/run/run_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/tab_writer.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTenth = kSecond / 10;

// "12.3s", and without tenths from two minutes on: "2m5s", "3h0m12s".
std::string duration(std::int64_t ns) {
    const std::int64_t s = ns / kSecond;
    if (s < 120) return fmt::format("{}.{}s", s, ns % kSecond / kTenth);
    if (s < 3600) return fmt::format("{}m{}s", s / 60, s % 60);
    return fmt::format("{}h{}m{}s", s / 3600, s / 60 % 60, s % 60);
}

std::string percent_or_dash(Percent percent, Percent none) {
    return percent == none ? "-" : std::to_string(percent.value);
}

}  // namespace

std::string run_table(std::span<const LiveRun> runs) {
    std::string out = "RUN\tGPU\tMEMORY\tUSED\tREFUSED\tCORES%\tCORES-LIMIT%\tUSER\tPID\tCOMMAND\n";
    for (const LiveRun& run : runs) {
        const RunLease& lease = run.lease;
        out +=
            fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", run.id, lease.gpu_index,
                        rounded_up(lease.memory), run.is_damaged ? "damaged" : rounded_up(run.used),
                        run.refusals, percent_or_dash(lease.cores, {}),
                        percent_or_dash(lease.cores_limit, kNoCoresLimit), run.uid,
                        run.is_program_alive ? std::to_string(lease.pid) : "ended", lease.command);
    }
    return align_tabs_and_trim(out);
}

std::string run_end_text(const RunLease& lease, const RunEnd& end) {
    std::string text = fmt::format("GPU {}: used up to {} of {}", lease.gpu_index,
                                   rounded_up(end.use.most_memory), rounded_up(lease.memory));
    if (end.use.refusals > 0) text += fmt::format(" ({} allocations refused)", end.use.refusals);
    if (end.use.is_timed) {
        const std::int64_t ns = std::max(end.use.time.kernels_ns, end.use.time.copies_ns);
        text += fmt::format(", had work on the GPU for {}", duration(ns));
    }
    text += fmt::format(", ran for {}", duration(end.wall_ns));
    if (end.others_live) {
        text +=
            "; processes that the program started are alive, and have the share until they end "
            "(tessera run --list)";
    }
    return text;
}

}  // namespace tessera
