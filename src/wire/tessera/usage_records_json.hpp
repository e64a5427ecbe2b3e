// Usage records, as an agent keeps them on its node and sends them to the ledger
// (POST /ledger/records):
//
//     {"version":1,"records":[{"podUid":"…","namespace":"default","pod":"train","from":1767225600,
//      "to":1767225660,"container":"main","gpu":"GPU-…","model":"NVIDIA A100-SXM4-80GB",
//      "memoryBytes":3221225472,"capacityBytes":85899345920,"computePercent":25,"whole":false}]}
//
// Times are unix seconds. A missing `whole` is false.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/budget/usage_record.hpp"

namespace tessera {

inline constexpr int kUsageRecordsVersion = 1;

std::string write_usage_records(std::span<const UsageRecord> records);

// Each record passes check_record. The error names the field: invalid_argument for broken text or a
// record that cannot be charged, unsupported for a newer version.
Result<std::vector<UsageRecord>> read_usage_records(std::string_view text);

}  // namespace tessera
