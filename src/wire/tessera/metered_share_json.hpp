// The part of a pod that is charged, as members of another object of JSON text:
//     "container":"main","gpu":"GPU-…","model":"NVIDIA A100-SXM4-80GB","memoryBytes":3221225472,
//     "capacityBytes":85899345920,"computePercent":25,"whole":false
// A missing `whole` is false.
#pragma once

#include "base/result.hpp"
#include "domain/metering/metered_shares.hpp"
#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {

void write_metered_share(JsonWriter& w, const MeteredShare& share);

// invalid_argument names the field: of `at`, an object.
Result<MeteredShare> read_metered_share(const JsonField& at);

}  // namespace tessera
