// Records without duplicates, and in fewer rows.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "domain/budget/usage_record.hpp"

namespace tessera {

// One record for each key, whatever the order and the number of copies. Two records of one key
// should be equal. If they are not, the longer one stays, and of equally long ones the greater in
// the order of the fields: the answer is the same for every reader, and no interval is charged
// twice. Roll-ups may be among the records. They count as the records of their intervals. The
// result is ordered by pod, container, GPU and time.
std::vector<UsageRecord> distinct_records(std::span<const UsageRecord> records);

// The same without copies: `visit` gets each record of the result, in that order.
void visit_distinct(std::span<const UsageRecord> records,
                    const std::function<void(const UsageRecord&)>& visit);

// The same records with adjacent intervals joined, within each hour: 60 records of a container that
// runs on unchanged become one. Nothing is lost: split_into_intervals gives the records back, so a
// record that arrives again, or late, still meets its own interval.
//
// roll_up(roll_up(a) and b) == roll_up(a and b)
std::vector<UsageRecord> roll_up(std::span<const UsageRecord> records);

}  // namespace tessera
