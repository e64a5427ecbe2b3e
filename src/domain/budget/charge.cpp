#include "domain/budget/charge.hpp"

#include <array>

#include "domain/budget/field_text.hpp"
#include "domain/request/gpu_rules.hpp"

namespace tessera {
namespace {

constexpr auto kBases = std::to_array<NamedValue<ChargeBasis>>({{ChargeBasis::memory, "memory"},
                                                                {ChargeBasis::compute, "compute"},
                                                                {ChargeBasis::larger, "larger"},
                                                                {ChargeBasis::mean, "mean"}});

// A part of a GPU. The divisor is at most 200 times a capacity, which has 51 bits.
struct Part {
    WideInt dividend = 1;
    WideInt divisor = 1;
};

// Of a record or a shape, which have the same fields.
template <class Share>
Part part_of(const Share& share, ChargeBasis basis) {
    if (share.whole) return {};
    const WideInt capacity = share.capacity.count;
    // Over one divisor, 100 times the capacity.
    const WideInt memory = static_cast<WideInt>(share.memory.count) * 100;
    const WideInt compute = capacity * share.compute.value;
    switch (basis) {
        case ChargeBasis::memory:
            return {memory, capacity * 100};
        case ChargeBasis::compute:
            return {compute, capacity * 100};
        case ChargeBasis::larger:
            return {memory > compute ? memory : compute, capacity * 100};
        case ChargeBasis::mean:
            return {memory + compute, capacity * 200};
    }
    return {};
}

template <class Share>
std::int64_t rate_of(const Share& share, ChargeBasis basis, GpuWeight weight) {
    TESSERA_CHECK(share.capacity > Bytes{}, "check_record accepted the record");
    const Part part = part_of(share, basis);
    constexpr std::int64_t kNanosPerMillionth = kNanosPerSecond / kMillionths;
    // At most 2^58 * 2^30 * 2^10.
    return static_cast<std::int64_t>(part.dividend * weight.millionths * kNanosPerMillionth /
                                     part.divisor);
}

}  // namespace

std::string_view to_string(ChargeBasis basis) {
    return name_of(kBases, basis);
}

Result<ChargeBasis> parse_charge_basis(std::string_view text) {
    return value_named(kBases, text, "memory, compute, larger or mean");
}

GpuWeight weight_of(const ChargeRule& rule, std::string_view model) {
    const std::pair<const std::string, GpuWeight>* best = nullptr;
    for (const auto& row : rule.weights) {
        if (row.first != model && !is_of_model(row.first, model)) continue;
        if (best == nullptr || row.first.size() > best->first.size()) best = &row;
    }
    return best == nullptr ? GpuWeight{} : best->second;
}

std::int64_t charge_rate(const UsageRecord& record, ChargeBasis basis, GpuWeight weight) {
    return rate_of(record, basis, weight);
}

std::int64_t charge_rate(const UsageShape& shape, ChargeBasis basis, GpuWeight weight) {
    return rate_of(shape, basis, weight);
}

GpuDuration charge(const UsageRecord& record, const ChargeRule& rule) {
    const WideInt rate = charge_rate(record, rule.basis, weight_of(rule, record.model));
    return {rate * record.time.seconds()};
}

GpuDuration charge(const UsageSum& sum, const ChargeRule& rule) {
    const WideInt rate = charge_rate(sum.shape, rule.basis, weight_of(rule, sum.shape.model));
    return {rate * sum.seconds};
}

}  // namespace tessera
