#include "testing/bench/placement_gain.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>

#include "adapters/os/text_file.hpp"
#include "domain/placement/engine/expected_fill/expected_fill.hpp"
#include "simulator/replay/sweep.hpp"
#include "testing/bench/figure.hpp"
#include "testing/bench/must.hpp"

namespace tessera::bench {
namespace {

constexpr std::array<std::uint64_t, 4> kSamplingSeeds = {0, 1, 2, 3};
constexpr double kMeanGain = 0.9;             // points
constexpr double kGpuspec25Allocated = 95.5;  // percent

// Allocated percentage of all GPUs at 100 % and 130 % demand, averaged over some runs.
struct Allocated {
    double at_100 = 0;
    double at_130 = 0;

    Allocated operator-(const Allocated& other) const {
        return {at_100 - other.at_100, at_130 - other.at_130};
    }
};
using AllocatedByTrace = std::map<std::string, Allocated>;

// The seeds of each trace's arrival orders, from the files arrivals/TRACE.seedSEED.txt.
std::map<std::string, std::vector<int>> orders_in(const std::string& folder) {
    std::map<std::string, std::vector<int>> orders;
    for (const auto& file :
         std::filesystem::directory_iterator(std::filesystem::path(folder) / "arrivals")) {
        const std::string name = file.path().stem().string();
        const std::size_t dot = name.rfind(".seed");
        if (dot == std::string::npos) continue;
        int seed = 0;
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data() + dot + 5, end, seed).ptr != end) continue;
        const std::string trace = name.substr(0, dot);
        if (!std::filesystem::exists(std::filesystem::path(folder) /
                                     ("openb_pod_list_" + trace + ".csv")))
            continue;
        orders[trace].push_back(seed);
    }
    for (auto& [trace, seeds] : orders)
        std::ranges::sort(seeds);
    return orders;
}

AllocatedByTrace allocated(const std::string& folder, int threads, SweepOptions options) {
    options.source.folder = folder;
    options.threads = threads;
    AllocatedByTrace means;
    for (const auto& [trace, seeds] : orders_in(folder)) {
        options.traces = {trace};
        options.seeds = seeds;
        for (const SimRun& run : must(sweep(options, read_text_file, [](auto, auto) {}))) {
            const auto runs = static_cast<double>(seeds.size());
            means[trace].at_100 += run.curve[100].allocation / runs;
            means[trace].at_130 += run.curve[130].allocation / runs;
        }
    }
    return means;
}

struct Gain {
    Allocated mean;
    Allocated worst{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
};

Gain gain_of(const AllocatedByTrace& ours, const AllocatedByTrace& fgd) {
    Gain gain;
    for (const auto& [trace, allocated] : ours) {
        const Allocated more = allocated - fgd.at(trace);
        gain.mean.at_100 += more.at_100 / static_cast<double>(ours.size());
        gain.mean.at_130 += more.at_130 / static_cast<double>(ours.size());
        gain.worst.at_100 = std::min(gain.worst.at_100, more.at_100);
        gain.worst.at_130 = std::min(gain.worst.at_130, more.at_130);
    }
    return gain;
}

template <bool kLearns, int kFill, int kPieces, int kReserve, int kPrice>
std::unique_ptr<PlacementPolicy> weighted(const PolicyInputs& inputs) {
    return expected_fill_policy(
        inputs, {kFill / 100.0, kPieces / 100.0, kReserve / 100.0, kPrice / 100.0}, kLearns);
}

// Weights in percent: fill, pieces, reserve, price.
constexpr auto kVariants = std::to_array<PlacementPolicyRow>({
    {"all four terms", "", weighted<true, 75, 75, 10, 50>},
    {"without pieces (W 1)", "", weighted<true, 100, 0, 10, 50>},
    {"without fill (H 1)", "", weighted<true, 0, 100, 10, 50>},
    {"without reserve", "", weighted<true, 75, 75, 0, 50>},
    {"without price", "", weighted<true, 75, 75, 10, 0>},
    {"fill alone (W 1)", "", weighted<true, 100, 0, 0, 0>},
    {"fill and pieces alone", "", weighted<true, 75, 75, 0, 0>},
    {"all four terms, mix known", "", weighted<false, 75, 75, 10, 50>},
});

}  // namespace

bool compare_with_fgd(const std::string& folder, int threads) {
    const AllocatedByTrace fgd = allocated(folder, threads, {.policies = {"fgd"}});
    AllocatedByTrace ours;
    bool holds = true;
    for (const std::uint64_t seed : kSamplingSeeds) {
        const AllocatedByTrace one =
            allocated(folder, threads, {.policies = {"expected-fill"}, .sampling_seed = seed});
        const Gain gain = gain_of(one, fgd);
        const std::string what = fmt::format(
            "ExpectedFill, mix learnt, sampling seed {}, {} traces: ", seed, fgd.size());
        holds &=
            at_least(what + "more than FGD at 100 %, mean", kMeanGain, gain.mean.at_100, "points");
        holds &= at_least(what + "the worst trace's at 100 %", 0, gain.worst.at_100, "points");
        holds &= at_least(what + "the worst trace's at 130 %", 0, gain.worst.at_130, "points");
        if (const auto typed = one.find("gpuspec25"); typed != one.end())
            holds &= at_least(what + "gpuspec25, allocated at 100 %", kGpuspec25Allocated,
                              typed->second.at_100, "%");
        for (const auto& [trace, allocated] : one) {
            ours[trace].at_100 += allocated.at_100 / kSamplingSeeds.size();
            ours[trace].at_130 += allocated.at_130 / kSamplingSeeds.size();
        }
    }
    for (const auto& [trace, allocated] : ours) {
        const Allocated base = fgd.at(trace);
        shown(
            fmt::format("{}, allocated at 100 / 130 %: FGD {:.2f} / {:.2f}, ExpectedFill {:.2f} / "
                        "{:.2f}; more at 100 %",
                        trace, base.at_100, base.at_130, allocated.at_100, allocated.at_130),
            allocated.at_100 - base.at_100, "points");
    }
    return holds;
}

void show_ablation(const std::string& folder, int threads) {
    const AllocatedByTrace fgd = allocated(folder, threads, {.policies = {"fgd"}});
    for (const PlacementPolicyRow& variant : kVariants) {
        const AllocatedByTrace one = allocated(folder, threads, {.others = {&variant}});
        const Gain gain = gain_of(one, fgd);
        fmt::print(
            "{}: more than FGD at 100 / 130 %: mean {:+.2f} / {:+.2f}, worst trace {:+.2f} "
            "/ {:+.2f};",
            variant.name, gain.mean.at_100, gain.mean.at_130, gain.worst.at_100, gain.worst.at_130);
        for (const auto& [trace, allocated] : one)
            fmt::print(" {} {:+.2f}", trace, allocated.at_100 - fgd.at(trace).at_100);
        fmt::print("\n");
        std::fflush(stdout);
    }
}

}  // namespace tessera::bench
