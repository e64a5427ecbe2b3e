// What the tables say about usage, in the caller's transaction.
#pragma once

#include <soci/soci.h>

#include <map>
#include <string>
#include <vector>

#include "domain/budget/usage_record.hpp"
#include "domain/budget/usage_sum.hpp"

namespace tessera {

// As LedgerStore's. They throw soci_error.
std::vector<UsageRecord> find_records(soci::session& sql, const std::string& ns, Window window);
std::vector<UsageSum> find_usage(soci::session& sql, const std::string& ns, Window window);
std::map<std::string, std::vector<UsageSum>> find_all_usage(soci::session& sql, Window window);

}  // namespace tessera
