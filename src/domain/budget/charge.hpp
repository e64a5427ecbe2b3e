// How much GPU time a usage record is charged.
//
// A record has a rate: what part of the GPU counts, times the weight of the GPU's model. The rate
// is rounded down to whole nanoseconds of GPU time per second, and the charge is the rate times the
// seconds. So
// - a charge is an exact sum of its seconds: cutting an interval in two changes nothing;
// - the shares of a GPU that have at most the whole GPU together are charged at most the weight
//   times the wall-clock time, with the basis memory, compute or mean. Not with larger, which
//   charges a share of half the memory and a share of all the compute 1.5 GPUs;
// - a share is charged less than 1 ns per second too little, 4 microseconds in an hour.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/budget/gpu_duration.hpp"
#include "domain/budget/gpu_weight.hpp"
#include "domain/budget/usage_record.hpp"
#include "domain/budget/usage_sum.hpp"

namespace tessera {

// What part of the GPU counts. A whole GPU counts as 1 with each of them.
enum class ChargeBasis {
    memory,   // memory / capacity; shares that have compute alone are free
    compute,  // the guarantee / 100; shares that have memory alone are free
    larger,   // the larger of the two
    mean,     // half of both together, as kubernetes-gpusharing's consumption factor
};

std::string_view to_string(ChargeBasis basis);

// "memory", "compute", "larger" or "mean"; any other text is an invalid_argument error.
Result<ChargeBasis> parse_charge_basis(std::string_view text);

struct ChargeRule {
    ChargeBasis basis = ChargeBasis::larger;
    // By model in words, as in the annotation gpu-models: "A100" is any model with this word.
    std::map<std::string, GpuWeight> weights;

    friend bool operator==(const ChargeRule&, const ChargeRule&) = default;
};

// The weight of the longest name in `weights` that the model has, of equally long names the first
// in the order of the alphabet; 1 if it has none.
GpuWeight weight_of(const ChargeRule& rule, std::string_view model);

// In nanoseconds of GPU time per second of wall-clock time. The record, or a record of the shape,
// has passed check_record.
std::int64_t charge_rate(const UsageRecord& record, ChargeBasis basis, GpuWeight weight);
std::int64_t charge_rate(const UsageShape& shape, ChargeBasis basis, GpuWeight weight);

// The charge of a sum is exactly the sum of the charges of the records that it was made of.
GpuDuration charge(const UsageRecord& record, const ChargeRule& rule);
GpuDuration charge(const UsageSum& sum, const ChargeRule& rule);

}  // namespace tessera
