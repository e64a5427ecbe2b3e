#include "domain/training/submit_flags.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/ascii.hpp"
#include "base/quantity.hpp"
#include "domain/training/submit_common.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

constexpr std::int64_t kMostSeconds = std::int64_t{10} * 365 * 86'400;

// What torchrun accepts.
Result<> check_nproc(const std::string& text) {
    const auto number = parse_whole_quantity(text);
    if (text == "auto" || text == "cpu" || text == "gpu" || (number && *number >= 1)) return {};
    return refuse("--nproc-per-node",
                  fmt::format("\"{}\" is neither a number from 1 nor auto, cpu or gpu", text));
}

void add_pytorch_variables(const PytorchJobFlags& flags, const Training& job, Role& role) {
    const std::string master = host_of(job, role, 0);
    const std::string port = std::to_string(flags.port);
    const std::string nodes = std::to_string(role.replicas);
    PodTemplate& pod = role.pod;
    // For programs that read the variables of torch.distributed themselves.
    add_variable(pod, "MASTER_ADDR", master);
    add_variable(pod, "MASTER_PORT", port);
    add_variable(pod, "WORLD_SIZE", nodes);
    add_variable(pod, "RANK", index_text());
    // The options of torchrun.
    add_variable(pod, "PET_NNODES", nodes);
    add_variable(pod, "PET_NPROC_PER_NODE", flags.nproc_per_node);
    add_variable(pod, "PET_NODE_RANK", index_text());
    add_variable(pod, "PET_MASTER_ADDR", master);
    add_variable(pod, "PET_MASTER_PORT", port);
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view flag, std::string_view text) {
    const auto bad = [&] {
        return refuse(flag,
                      fmt::format("\"{}\" is not a duration such as 90s, 30m or 1h30m", text));
    };
    std::int64_t sum = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
        std::int64_t number = 0;
        std::size_t digits = 0;
        while (digits < rest.size() && is_digit(rest[digits]) && digits < 10)
            number = number * 10 + (rest[digits++] - '0');
        if (digits == 0 || digits == rest.size()) return bad();
        const char unit = rest[digits];
        if (unit != 's' && unit != 'm' && unit != 'h') return bad();
        sum += number * (unit == 'h' ? 3'600 : unit == 'm' ? 60 : 1);
        rest.remove_prefix(digits + 1);
    }
    if (sum < 1 || sum > kMostSeconds) return bad();
    return sum;
}

Result<Training> pytorch_job(const PytorchJobFlags& flags) {
    const SubmitFlags& submit = flags.submit;
    TRY(Training job, begin_training(submit, TrainingType::pytorch));
    TRY(const PodTemplate pod, pod_of(submit, job.type));
    TRY_VOID(check_number("--master-port", flags.port, 1, 65'535));
    TRY_VOID(check_nproc(flags.nproc_per_node));
    job.roles.push_back({.name = "worker",
                         .replicas = submit.workers,
                         .pod = pod,
                         .first_decides = submit.workers > 1});
    if (submit.workers > 1) {
        connect(job);
        add_pytorch_variables(flags, job, job.roles.front());
    } else if (flags.nproc_per_node != "1") {
        add_variable(job.roles.front().pod, "PET_NPROC_PER_NODE", flags.nproc_per_node);
    }
    return finished(std::move(job), submit);
}

Result<Training> plain_job(const SubmitFlags& flags) {
    TRY(Training job, begin_training(flags, TrainingType::job));
    TRY(const PodTemplate pod, pod_of(flags, job.type));
    job.roles.push_back({.name = "worker", .replicas = flags.workers, .pod = pod});
    return finished(std::move(job), flags);
}

}  // namespace tessera::workload
