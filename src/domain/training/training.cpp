#include "domain/training/training.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/dns_name.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

// A host name has at most 63 characters, and ours end with "-worker-9999" at most; Arena has the
// same limit.
constexpr std::size_t kLongestName = 49;

}  // namespace

const TrainingTypeRow& row_of(TrainingType type) {
    return *std::ranges::find(kTrainingTypes, type, &TrainingTypeRow::type);
}

Result<TrainingType> parse_training_type(std::string_view text) {
    std::string words;
    for (const TrainingTypeRow& row : kTrainingTypes) {
        if (text == row.command || text == row.word || (text == row.alias && !text.empty()))
            return row.type;
        words += fmt::format("{}{}", words.empty() ? "" : ", ", row.word);
    }
    return fail(Code::invalid_argument, fmt::format("--type: \"{}\" is none of {}", text, words));
}

std::string_view word_of(CleanPolicy policy) {
    return std::ranges::find(kCleanPolicies, policy, &CleanPolicyRow::policy)->word;
}

std::optional<CleanPolicy> parse_clean_policy(std::string_view text) {
    const auto row = std::ranges::find(kCleanPolicies, text, &CleanPolicyRow::word);
    if (row == kCleanPolicies.end()) return std::nullopt;
    return row->policy;
}

std::optional<Backend> parse_backend(std::string_view text) {
    const auto row = std::ranges::find(kBackends, text, &BackendRow::word);
    if (row == kBackends.end()) return std::nullopt;
    return row->backend;
}

std::string train_job_object(std::string_view name) {
    return fmt::format("{}-{}-0", name, kTrainJobContainer);
}

Result<> check_train_job(const Training& job) {
    if (job.roles.size() > 1) {
        return refuse("--backend",
                      "trainjob has pods of one kind; leave out the flags of the others, or use "
                      "--backend job");
    }
    // JobSet refuses longer names of pods. They end with an index and five random characters.
    constexpr std::size_t kLongestPod = 63;
    const int last = job.roles.front().replicas - 1;
    const std::string pod = fmt::format("{}-{}-12345", train_job_object(job.name), last);
    if (pod.size() > kLongestPod) {
        return refuse(
            "--name",
            fmt::format("\"{}\" has {} characters, and may have at most {} with "
                        "--backend trainjob and this many workers",
                        job.name, job.name.size(), job.name.size() - (pod.size() - kLongestPod)));
    }
    if (job.ttl_s >= 0) {
        return refuse("--ttl-after-finished",
                      "cannot be used with --backend trainjob, which is not deleted by itself; "
                      "leave it out, and run tessera prune from time to time");
    }
    return {};
}

std::string files_name(const Training& job) {
    return files_name(job.name, job.roles.front().pod.files);
}

Result<> check_training_name(std::string_view name) {
    if (name.empty()) return fail(Code::invalid_argument, "--name: is missing");
    if (!is_dns_label(name) || name.front() <= '9') {
        return fail(Code::invalid_argument,
                    fmt::format("--name: \"{}\" is not a name of a-z, 0-9 and -, which begins with "
                                "a letter and ends with a letter or digit",
                                name));
    }
    if (name.size() <= kLongestName) return {};
    return fail(Code::invalid_argument,
                fmt::format("--name: \"{}\" has {} characters, and may have at most {}: the host "
                            "names of the pods begin with it",
                            name, name.size(), kLongestName));
}

}  // namespace tessera::workload
