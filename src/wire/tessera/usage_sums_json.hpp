// What the ledger says about usage (GET /ledger/usage?from=UNIX&to=UNIX[&namespace=NS]):
//
//     {"version":1,"from":1767225600,"to":1767312000,"namespaces":[{"namespace":"default","usage":[
//      {"model":"NVIDIA A100-SXM4-80GB","memoryBytes":3221225472,"capacityBytes":85899345920,
//       "computePercent":25,"whole":false,"seconds":7200}]}]}
//
// Times are unix seconds. A missing `whole` is false. Namespaces without usage are not listed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/budget/usage_record.hpp"
#include "domain/budget/usage_sum.hpp"

namespace tessera {

inline constexpr int kUsageSumsVersion = 1;

struct UsageQuery {
    Window window;
    std::string ns;  // empty: all namespaces

    friend bool operator==(const UsageQuery&, const UsageQuery&) = default;
};

// The query without "?".
std::string write_usage_query(const UsageQuery& query);
// Strict: a parameter that is unknown, given twice or missing is an error, because the answer would
// be about something else. invalid_argument names the parameter and the fix.
Result<UsageQuery> read_usage_query(std::string_view query);

struct UsageSums {
    Window window;
    std::map<std::string, std::vector<UsageSum>> by_namespace;

    friend bool operator==(const UsageSums&, const UsageSums&) = default;
};

std::string write_usage_sums(const UsageSums& sums);
// The error names the field: invalid_argument for broken text or for a sum that cannot be charged,
// unsupported for a newer version.
Result<UsageSums> read_usage_sums(std::string_view text);

}  // namespace tessera
